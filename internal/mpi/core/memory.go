package core

import (
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Memory returns size bytes, more than 0, that messages to and from the process move with fewer
// copies or less work than others, and the function that gives them back. ok is false if the method
// that reaches the process has no such memory, or if it is this process. Memory does not connect.
func (p *Proc) Memory(size int) (mem []byte, free func() error, ok bool, err error) {
	ep := p.e.ep
	if p == p.e.self {
		return nil, nil, false, nil
	}
	for _, text := range p.addresses() {
		addr, err := ep.Lookup(text)
		if err != nil {
			continue // as a message would
		}
		scheme, _, _ := strings.Cut(text, "://")
		i := slices.IndexFunc(ep.Info(), func(in bmi.Info) bool { return in.Name == scheme })
		if i < 0 || !ep.Info()[i].RegisteredMemory {
			return nil, nil, false, nil
		}
		if mem, err = ep.Alloc(addr, size); err != nil {
			return nil, nil, false, err
		}
		return mem, func() error { return ep.Free(addr, mem) }, true, nil
	}
	return nil, nil, false, nil
}

// addresses are those by which this process reaches the other, best first.
func (p *Proc) addresses() []string {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	card, err := p.whole()
	if err != nil {
		return nil // as a message would
	}
	return p.e.cfg.Route(card)
}
