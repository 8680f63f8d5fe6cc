package core

import "github.com/viaduct-hpc/viaduct/mpi/core/wire"

// sayBye tells the process that this one leaves in good order, on each connection: what it said
// before on one of them must not be overtaken on the other.
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

// leaving tells whether the process has said on one connection that it leaves.
func (p *Proc) leaving() bool {
	return p.route != nil && p.route.bye || p.into != nil && p.into.bye
}

// leave takes the news that a process leaves in good order, once it has said so on every
// connection that it knows of and that has not ended. Nothing comes from it any more then, and
// nothing reaches it.
func (p *Proc) leave() {
	for _, l := range []*link{p.route, p.into} {
		if l != nil && !l.gone && l.heard && !l.bye {
			return
		}
	}
	p.left = true
	p.farewell()
	p.e.arrivals.Add(1)
	p.e.changed()
}

// farewell ends the operations for which the process, which has left, would have to do
// something yet. What is moving already goes on: it left after its part was done.
func (p *Proc) farewell() {
	p.e.join()
	err := p.gone()
	for o := p.ops.First(); o != nil; {
		next := p.ops.Next(o)
		if o.at != atMove && o.at != atNetwork {
			o.fail(err)
		}
		o = next
	}
}
