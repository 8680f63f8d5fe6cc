package coretest

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Play runs the program with run, which runs each rank, and checks the histories.
func (p *Program) Play(run func(program func(r *Rank) error) error) error {
	histories, at := p.histories(), make([]atomic.Int64, len(p.Ranks))
	err := run(func(r *Rank) (err error) {
		return p.Run(r, histories[r.N], func(action int) { at[r.N].Store(int64(action)) })
	})
	if err != nil {
		return p.where(err, at)
	}
	return Check(p.Seed, histories)
}

func (p *Program) histories() (all []*History) {
	for range p.Ranks {
		all = append(all, new(History))
	}
	return all
}

// where adds each rank's position to an error.
func (p *Program) where(err error, at []atomic.Int64) error {
	var b strings.Builder
	for n := range at {
		fmt.Fprintf(&b, " rank %d at %d of %d;", n, at[n].Load(), len(p.Ranks[n]))
	}
	return fmt.Errorf("%w:%s", err, strings.TrimSuffix(b.String(), ";"))
}

// PlayCrash runs the program in simulated time, and crashes one rank some rounds after all ranks
// have met. A rank that learns of that from a failed operation revokes every communicator, so all
// ranks must end. Everything that they received by then must be correct.
func (p *Program) PlayCrash(w *World, victim, rounds int) error {
	histories, at, met := p.histories(), make([]atomic.Int64, len(p.Ranks)), 0
	w.before = func() {
		if met < len(p.Ranks) {
			return
		}
		if rounds--; rounds == 0 {
			w.gone[victim] = true
			w.f.Crash(victim)
		}
	}
	err := w.Run(func(r *Rank) error {
		x, port := p.newRun(r, histories[r.N]), r.Port.(*enginePort)
		if err := port.openAll(len(p.Comms) + 1); err != nil {
			return err
		}
		if _, err := x.tell(); err != nil {
			return err
		}
		met++
		err := x.all(func(action int) { at[r.N].Store(int64(action)) })
		for _, c := range []errclass.Class{errclass.ProcFailed, errclass.ProcFailedPending, errclass.Revoked} {
			if errors.Is(err, c) {
				port.revokeAll()
				return nil
			}
		}
		return err
	})
	if err != nil {
		return p.where(err, at)
	}
	return checkPart(p.Seed, histories)
}
