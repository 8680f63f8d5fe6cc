package coretest

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Play runs the program, each rank by the function that run is given, and checks what they
// saw.
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

// where adds to an error how far each rank has come.
func (p *Program) where(err error, at []atomic.Int64) error {
	var b strings.Builder
	for n := range at {
		fmt.Fprintf(&b, " rank %d at %d of %d;", n, at[n].Load(), len(p.Ranks[n]))
	}
	return fmt.Errorf("%w:%s", err, strings.TrimSuffix(b.String(), ";"))
}

// PlayCrash runs the program in simulated time, and ends one rank without a word some
// rounds after all have met. Who learns of it, by an operation that fails, revokes every
// communicator: so all of them must come to an end. What they received by then must be
// right.
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
