//go:build linux

package stream

import (
	"errors"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/plugins/arena"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// A lane is a part of the arena and the operations that wait for memory in it. The operations of a
// lane keep their order, which matters for matching. Sends and receives have separate lanes,
// because a send may be waiting for a receive on the other side.
type lane struct {
	arena *arena.Arena
	base  int // offset of the part
	queue []*asked
}

func (l *lane) init(mem []byte, from, to int) (err error) {
	l.arena, err = arena.New(mem[from:to:to])
	l.base = from
	return err
}

// size returns the largest size that the lane can allocate, in bytes.
func (l *lane) size() int { return l.arena.Size() }

// offset returns the offset in the whole arena of memory in the lane.
func (l *lane) offset(mem []byte) int {
	off, _ := l.arena.Offset(mem)
	return l.base + off
}

func (p *plugin) lane(a *asked) *lane {
	if a.recv() {
		return &p.recvs
	}
	return &p.sends
}

// waitLocked queues an operation.
func (p *plugin) waitLocked(a *asked) {
	l := p.lane(a)
	l.queue = append(l.queue, a)
	a.waits = true
	p.waiting += waitingBytes + len(a.message)
}

// unwaitLocked removes an operation from its queue.
func (p *plugin) unwaitLocked(a *asked) {
	l := p.lane(a)
	i := slices.Index(l.queue, a)
	if i == 0 {
		l.queue[0] = nil
		l.queue = l.queue[1:]
	} else {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
	a.waits = false
	p.lessLocked(waitingBytes + len(a.message))
}

// lessLocked subtracts n from the waiting bytes.
func (p *plugin) lessLocked(n int) {
	p.waiting -= n
	select {
	case p.fewer <- struct{}{}:
	default:
	}
}

// endOfLocked ends the waiting operations of a peer that the program drops.
func (p *plugin) endOfLocked(peer uint64) error {
	for _, l := range []*lane{&p.sends, &p.recvs} {
		for _, a := range slices.Clone(l.queue) {
			if a.head.Peer == peer {
				p.unwaitLocked(a)
				p.endLocked(a, wire.StatusDropped, wire.StatusDropped.String())
			}
		}
	}
	return errors.Join(p.resumeLocked(&p.sends), p.resumeLocked(&p.recvs))
}

// uncrowded waits until few enough bytes wait, or until the ending, and then returns its reason.
func (p *plugin) uncrowded() error {
	for {
		p.mu.Lock()
		crowded := p.waiting > waitingBytesMax
		p.mu.Unlock()
		if !crowded {
			return nil
		}
		select {
		case <-p.fewer:
		case <-p.over.ch:
			return p.over.reason()
		}
	}
}

// release frees the memory of an operation that is over, and passes waiting operations to the
// engine.
func (p *plugin) release(a *asked) error {
	if a.mem == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lane(a)
	l.arena.Free(a.mem)
	a.mem = nil
	return p.resumeLocked(l)
}

// resumeLocked passes waiting operations to the engine while there is memory.
func (p *plugin) resumeLocked(l *lane) error {
	for len(l.queue) > 0 {
		a := l.queue[0]
		n := waitingBytes + len(a.message)
		ok, err := p.placeLocked(a)
		if !ok || err != nil {
			return err
		}
		l.queue[0] = nil
		l.queue = l.queue[1:]
		a.waits = false
		p.lessLocked(n)
	}
	return nil
}
