//go:build linux

package stream

import (
	"errors"
	"slices"

	"github.com/viaduct-hpc/viaduct/plugins/arena"
	"github.com/viaduct-hpc/viaduct/plugins/wire"
)

// A lane is a part of the arena and the operations that wait for memory in it. Those of
// one lane keep their order, as matching has it; sends and receives have a lane each, for
// a send may well be waiting for a receive on the other side.
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

// size is the most that the lane has memory for, in bytes.
func (l *lane) size() int { return l.arena.Size() }

// offset is where memory of the lane lies in the arena as a whole.
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

// waitLocked has an operation wait.
func (p *plugin) waitLocked(a *asked) {
	l := p.lane(a)
	l.queue = append(l.queue, a)
	a.waits = true
	p.waiting += waitingBytes + len(a.message)
}

// unwaitLocked takes an operation from its queue.
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

// lessLocked says that so many bytes wait no more.
func (p *plugin) lessLocked(n int) {
	p.waiting -= n
	select {
	case p.fewer <- struct{}{}:
	default:
	}
}

// endOfLocked ends what waits of a peer, which the program drops.
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

// uncrowded returns when no more waits than may, or at the end, whose reason it returns.
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

// release takes the memory of an operation that is over, and gives to the engine what
// waited for it.
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

// resumeLocked gives to the engine what there is memory for.
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
