package mpiperf

import (
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// Partitioned is Latency of messages in Partitions partitions.
const Partitioned perf.Test = "partitioned"

// Partitions are the partitions of each message of the test Partitioned.
const Partitions = 64

// A divided is a ping-pong of partitioned messages, whose partitions become ready one after another.
type divided struct {
	*pair
	out, in mpi.Request
}

func openPartitioned(c *mpi.Comm, s setup) (job, error) {
	p := &divided{pair: newPair(c, s)}
	p.out = c.PsendInit(mpi.Slice(p.pair.out), Partitions, p.peer, tag)
	p.in = c.PrecvInit(mpi.Slice(p.pair.in[0]), Partitions, p.peer, tag)
	return p, nil // the first use of a request reports its error
}

func (*divided) ready(int) error { return nil }

func (p *divided) once() error {
	if p.c.Rank() == 0 {
		if err := p.send(); err != nil {
			return err
		}
		return p.recv()
	}
	if err := p.recv(); err != nil {
		return err
	}
	return p.send()
}

func (p *divided) send() error {
	if err := p.out.Start(); err != nil {
		return err
	}
	for i := range Partitions {
		if err := p.out.Pready(i); err != nil {
			return err
		}
	}
	_, err := p.out.Wait(forever)
	return err
}

func (p *divided) recv() error {
	if err := p.in.Start(); err != nil {
		return err
	}
	_, err := p.in.Wait(forever)
	return err
}

// close frees both requests.
func (p *divided) close() error {
	if err := p.out.Free(); err != nil {
		return err
	}
	return p.in.Free()
}
