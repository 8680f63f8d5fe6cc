package mpi

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A commMachine describes the machine to the collective operations of a communicator. The first of
// them makes it from the cards of the processes, without a message.
type commMachine struct {
	once   sync.Once
	hosts  *coll.Hosts // nil: all on one host
	tuning atomic.Pointer[coll.Tuning]
}

// giveMachine gives a view of all ranks of c its Machine.
func (c *Comm) giveMachine(v *view) {
	hosts := c.hosts()
	v.tuning = c.parts.machine.tuning.Load()
	v.machine = coll.NewMachine(v, hosts, v.tuning)
}

// Hosts returns which hosts the processes of c's group are on, as far as collective operations are
// concerned (see Options.RanksPerHost); nil: all are on one. On an inter-communicator it is the local
// group.
func (c *Comm) Hosts() *coll.Hosts {
	if c == nil {
		return nil
	}
	return c.hosts()
}

// hosts is Hosts of a Comm that is not nil.
func (c *Comm) hosts() *coll.Hosts {
	m := &c.parts.machine
	m.once.Do(func() {
		card := func(q *core.Proc) string { return q.Card().Host }
		per := c.p.told.ranksPerHost
		switch {
		case c.p.strangers.Load() && !c.sameJob():
			// Other jobs may have other settings, but the cards are the same for all processes.
			m.hosts = hostsOf(c.group, card)
			return
		case per > 0:
			m.hosts = hostsOf(c.group, func(q *core.Proc) int { return c.p.world.group.Rank(q) / per })
		case !c.p.near:
			m.hosts = hostsOf(c.group, card)
		}
		m.tuning.Store(c.p.told.tuning)
	})
	return m.hosts
}

// sameJob tells whether all processes of c's own group are of this process's job.
func (c *Comm) sameJob() bool {
	for _, q := range c.group.Members() {
		if !c.p.world.group.Contains(q) {
			return false
		}
	}
	return true
}

func hostsOf[T comparable](g *Group, host func(*core.Proc) T) *coll.Hosts {
	of := make([]T, g.Size())
	for i, q := range g.Members() {
		of[i] = host(q)
	}
	h, err := coll.NewHosts(of)
	if err != nil {
		return nil // a communicator has 1 to 2^20 ranks, so there is none
	}
	return h
}

// SetTuning gives the collective operations of a communicator a table of algorithms, instead of the
// one of the job (Options.Tuning); nil: none. All processes of c must call it, in the same order as
// other collective operations. They get an error of class ErrArg if they do not give the same table.
// A duplicate of c does not have the table.
func (c *Comm) SetTuning(ctx context.Context, t *coll.Tuning) (err error) {
	defer c.call("MPIX_Comm_set_tuning", &err)()
	if err := c.checkIntra(); err != nil {
		return err
	}
	h := fnv.New64a()
	if t != nil {
		_, _ = h.Write([]byte(t.String())) // never fails
	}
	// All ones are left in one half or the other of every bit if all have the same bits.
	both := binary.NativeEndian.AppendUint64(nil, h.Sum64())
	both = binary.NativeEndian.AppendUint64(both, ^h.Sum64())
	if err := c.run(ctx, program{do: func(v *view) error { return v.and(both) }}); err != nil {
		return err
	}
	if binary.NativeEndian.Uint64(both)|binary.NativeEndian.Uint64(both[8:]) != math.MaxUint64 {
		return errclass.New(errclass.Arg, "the processes give different tuning tables: give all the same")
	}
	c.hosts() // so that this table stays
	c.parts.machine.tuning.Store(t)
	return nil
}
