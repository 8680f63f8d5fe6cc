package coretest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// finish ends everything that is left.
func (x *run) finish() error {
	for _, step := range []func() error{x.finishCancels, x.drain, x.finishAll, x.free, x.leave} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// left returns the pending posts for which take is true, in random order.
func (x *run) left(take func(p *posted) bool) (posts []*posted) {
	for _, id := range slices.Sorted(maps.Keys(x.pending)) {
		if p := x.pending[id]; take(p) {
			posts = append(posts, p)
		}
	}
	x.rng.Shuffle(len(posts), func(i, j int) { posts[i], posts[j] = posts[j], posts[i] })
	return posts
}

// finishCancels waits until it is known which sends were cancelled.
func (x *run) finishCancels() error {
	for _, p := range x.left(func(p *posted) bool { return p.sent != nil && p.cancel }) {
		if err := x.waitOne(p); err != nil {
			return err
		}
	}
	return nil
}

// counting is an additional communicator, in which ranks tell one another how many messages they
// have sent.
func (x *run) counting() int { return len(x.p.Comms) }

// tell exchanges counts with every rank; total is by communicator.
func (x *run) tell() (total []uint64, err error) {
	n, comms := len(x.p.Ranks), len(x.p.Comms)
	in := make([]byte, 8*n*comms)
	var rs []Request
	for rank := range n {
		var out []byte
		for comm := range comms {
			out = binary.LittleEndian.AppendUint64(out, x.counts[comm][rank])
		}
		recv, err := x.Irecv(x.counting(), core.Buffer{Mem: in[8*comms*rank:][:8*comms]}, rank, 0)
		if err != nil {
			return nil, err
		}
		send, err := x.Isend(x.counting(), core.Standard, core.Buffer{Mem: out}, rank, 0)
		if err != nil {
			return nil, err
		}
		rs = append(rs, recv, send)
	}
	if err := x.WaitAll(rs, nil, nil); err != nil {
		return nil, err
	}
	total = make([]uint64, comms)
	for i := range n * comms {
		total[i%comms] += binary.LittleEndian.Uint64(in[8*i:])
	}
	return total, nil
}

// drain receives the remaining messages in free communicators, and then cancels the remaining
// receives.
func (x *run) drain() error {
	total, err := x.tell()
	if err != nil {
		return err
	}
	for comm, d := range x.p.Comms {
		if d == Free {
			if err := x.drainOne(comm, int(total[comm])); err != nil {
				return fmt.Errorf("in %d, which has %d messages: %w", comm, total[comm], err)
			}
		}
	}
	return nil
}

func (x *run) drainOne(comm, total int) error {
	here := func(p *posted) bool { return p.got != nil && p.got.Comm == comm }
	for i := range total - x.arrived[comm] - len(x.left(func(p *posted) bool { return here(p) && p.got.Taken })) {
		a := Action{Verb: Irecv, ID: -1 - comm*1000 - i, Comm: comm, Peer: core.AnySource, Tag: core.AnyTag, Size: x.p.RoomMax}
		if err := x.irecv(a); err != nil {
			return err
		}
	}
	for x.arrived[comm] < total {
		if err := x.lookAt([]Verb{WaitAny, WaitSome}[x.rng.IntN(2)], x.left(here)); err != nil {
			return err
		}
	}
	for _, p := range x.left(here) {
		if err := x.cancelOne(p); err != nil {
			return err
		}
		if err := x.waitOne(p); err != nil {
			return err
		}
	}
	return nil
}

// free frees the persistent requests.
func (x *run) free() error {
	for _, idle := range x.idle {
		for _, p := range idle {
			if err := p.again.Free(); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave waits until every rank has all its messages. Some may be buffered here, and an engine need
// not move them while no call is made.
func (x *run) leave() error {
	_, err := x.tell()
	return err
}

// finishAll waits for everything, in one of several ways.
func (x *run) finishAll() error {
	v := []Verb{Wait, WaitAny, WaitAll, WaitSome}[x.rng.IntN(4)]
	for len(x.pending) > 0 {
		if err := x.lookAt(v, x.left(func(*posted) bool { return true })); err != nil {
			return err
		}
	}
	return nil
}
