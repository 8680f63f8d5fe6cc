package mpi

import (
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// source is what the process shows of itself while it runs. Its endpoint shows itself. During Init, the counts are 0 and the process
// waits for nothing.
func (p *Process) source() *watch.Source {
	return &watch.Source{
		Counts: func() []about.Count {
			if !p.initialized.Load() {
				return about.Counts("mpi", core.Stats{})
			}
			return about.Counts("mpi", p.engine.Stats())
		},
		Rank: func() *watch.Rank {
			r := &watch.Rank{Job: p.boot.JobID(), Rank: p.boot.Rank(), Size: p.boot.Size()}
			if p.initialized.Load() {
				r.Waits = p.waits(time.Now())
			}
			return r
		},
	}
}

// otherCall is the name of a call that waits for something else than messages of its own: a probe, or an
// operation on a window.
const otherCall = "other"

// waits returns what calls wait for. The library does not note which call waits for which operation:
// while any call sleeps, all operations that have not ended are what the process waits for.
func (p *Process) waits(now time.Time) []watch.Wait {
	calls, since, ops := p.engine.Blocked()
	if calls == 0 {
		return nil
	}
	var all []watch.Wait
	kinds := map[core.Pending]int{}
	for _, o := range ops {
		kind := o
		kind.Proc, kind.Tag = nil, 0
		i, known := kinds[kind]
		if !known {
			i = len(all)
			kinds[kind] = i
			all = append(all, watch.Wait{Call: callOf(&o), Tag: tagOf(&o), Since: now.Add(-since), Peers: []int{}})
		}
		p.addTo(&all[i], &o)
	}
	if len(all) == 0 {
		all = append(all, watch.Wait{Call: otherCall, Tag: AnyTag, Since: now.Add(-since)})
	}
	for i := range all {
		slices.Sort(all[i].Peers)
		all[i].Peers = slices.Compact(all[i].Peers)
	}
	return all
}

// addTo adds an operation to the wait of a call. A wait for any process, or for one outside this world,
// names no peers.
func (p *Process) addTo(w *watch.Wait, o *core.Pending) {
	if w.Tag != tagOf(o) {
		w.Tag = AnyTag
	}
	rank := Undefined
	if o.Proc != nil {
		rank = p.world.group.Rank(o.Proc)
	}
	if rank == Undefined {
		w.Peers = nil
	} else if w.Peers != nil {
		w.Peers = append(w.Peers, rank)
	}
}

// callOf names the call that an operation belongs to. Messages of a communicator's odd context are those
// of collective operations.
func callOf(o *core.Pending) string {
	switch {
	case o.Context == core.Farewell:
		return "MPI_Finalize"
	case o.Context%2 == 1 && o.Doing != "":
		return o.Doing
	case o.Context%2 == 1:
		return "collective"
	case o.Receive:
		return "MPI_Recv"
	}
	return "MPI_Send"
}

// tagOf is the tag to display. Tags of collective operations are internal, so they are not shown.
func tagOf(o *core.Pending) int {
	if o.Context%2 == 1 || o.Context == core.Farewell {
		return AnyTag
	}
	return o.Tag
}
