package core

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
)

// sayBye tells the process on each connection that this one leaves in good order: the news on one
// connection must not overtake earlier packets on the other.
func (p *Proc) sayBye() {
	if p.bye || p.err != nil || p == p.e.self {
		return
	}
	p.bye = true
	for i, l := range []*link{p.route, p.into} {
		if l != nil && !l.gone && (i == 0 || l != p.route) {
			l.post(wire.KindBye, wire.Bye{Credit: p.tell()}.Append(p.e.packetBuffer()))
		}
	}
}

// leaving tells whether the process has sent BYE on a connection.
func (p *Proc) leaving() bool {
	return p.route != nil && p.route.bye || p.into != nil && p.into.bye
}

// leave marks a process as left once it has sent BYE on every open connection that it knows of.
// After that nothing arrives from it, and it receives nothing.
func (p *Proc) leave() {
	for _, l := range []*link{p.route, p.into} {
		if l != nil && !l.gone && l.known && !l.bye {
			return
		}
	}
	p.left = true
	p.e.tell(Event{Kind: ProcessLeft, Proc: p})
	p.farewell()
	p.e.arrivals.Add(1)
	p.e.changed()
}

// doubt is called when a connection to a process ended before the process answered on it. The
// process may have left in good order without knowing of this connection. Then it has said BYE on
// the connection that it made, which may have to be read yet. If no BYE comes, the process has
// failed.
func (p *Proc) doubt(cause error) {
	p.route = p.into
	if p.doubted {
		return
	}
	p.doubted = true
	time.AfterFunc(byeTimeMax, func() {
		p.e.mu.Lock()
		defer p.e.mu.Unlock()
		p.fail(cause) // does nothing if it has left
	})
}

// farewell ends the operations that still need something from the process, which has left.
// Transfers that have begun go on: the process did its part before it left.
func (p *Proc) farewell() {
	p.e.join()
	err := p.gone()
	for o := p.ops.First(); o != nil; {
		next := o.links.Next()
		if o.at != atMove && o.at != atNetwork {
			o.fail(err)
		}
		o = next
	}
	p.failCalls(err)
	p.lostServed()
}
