package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// roleExchangeMPI is a rank of an exchange of two ranks of package mpi.
const roleExchangeMPI = "exchange-mpi"

// exchangeMPILine is the command line of an exchange of two ranks.
func exchangeMPILine(cfg config) []string {
	return []string{
		filepath.Join(cfg.mpi, "mpiexec"), "-n", "2", "--no-label", "--env", "MPI_METHOD=" + ours,
		cfg.self, roleExchangeMPI, cfg.point.String(),
	}
}

// exchangeMPI runs a rank. Its argument is the time.
func exchangeMPI(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want a time, not %q", args)
	}
	budget, err := parseBudget(args[0])
	if err != nil {
		return err
	}
	return mpi.Run(context.Background(), mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
		w := p.World()
		if w.Size() != 2 {
			return fmt.Errorf("an exchange of %d ranks: two are needed", w.Size())
		}
		peer := &mpiPartner{ctx: ctx, c: w, peer: 1 - w.Rank(), out: make([]byte, rateSize), in: make([]byte, rateSize)}
		if w.Rank() == 1 {
			return followTwice(peer)
		}
		messages, took, err := leadTwice(peer, budget)
		if err != nil {
			return err
		}
		return printExchange(oursMPI, 1, messages, took)
	})
}

// An mpiPartner is the other rank.
type mpiPartner struct {
	ctx     context.Context // of the whole exchange
	c       *mpi.Comm
	peer    int
	out, in []byte
}

const exchangeTag = 7

func (p *mpiPartner) send(word uint64) error {
	binary.LittleEndian.PutUint64(p.out, word)
	return p.c.Send(p.ctx, mpi.Slice(p.out), p.peer, exchangeTag)
}

func (p *mpiPartner) recv() (uint64, error) {
	_, err := p.c.Recv(p.ctx, mpi.Slice(p.in), p.peer, exchangeTag)
	return binary.LittleEndian.Uint64(p.in), err
}
