package core

import "github.com/viaduct-hpc/viaduct/mpi/core/wire"

// allows tells whether the peer has room for a message of n bytes.
func (p *Proc) allows(n uint32) bool { return p.charged-p.returned+n+chargeBytes <= p.window }

// allowsAnnouncement tells whether the peer has room for one more announcement. There is
// much more of it than for messages: a message that is not received yet must not keep one
// behind it from a receive that waits for that (MPI-4.1, 3.5, progress).
func (p *Proc) allowsAnnouncement() bool {
	return p.charged-p.returned+chargeBytes <= p.window+announcedBytes
}

// tell is the credit that a packet to the process carries.
func (p *Proc) tell() uint32 {
	p.told = p.consumed
	return p.consumed
}

// widen takes the window that the peer has for us. Until it has said so there is a
// smaller one, which every peer has.
func (p *Proc) widen(window uint32) {
	p.window = min(max(window, windowMin), windowMax)
}

// credit takes the peer's count of what it has consumed, which only grows. Where it has two
// connections an older count may come after a newer one.
func (p *Proc) credit(consumed uint32) bool {
	n := consumed - p.returned
	if int32(n) <= 0 {
		return true
	}
	if n > p.charged-p.returned {
		p.broke("it has taken more than it was sent")
		return false
	}
	p.returned = consumed
	if !p.backlog.Empty() {
		p.flush()
	}
	return p.err == nil
}

// charge counts a packet that arrived, for which there is so much room beside the window,
// and reports whether the peer was allowed to send it.
func (p *Proc) charge(n, beside uint32) bool {
	p.arrived += n
	if p.arrived-p.consumed > uint32(p.e.cfg.Limits.WindowBytes)+beside {
		p.broke("it sent more than its window allows")
		return false
	}
	return true
}

// consume gives room back. The peer learns it with the next packet, or by one of its own
// when half of the room is owed.
func (p *Proc) consume(n uint32) {
	p.consumed += n
	if p.consumed-p.told < uint32(p.e.cfg.Limits.WindowBytes)/2 || p.err != nil || p.left {
		return
	}
	if l := p.any(); l != nil {
		l.post(wire.KindCredit, wire.Credit{Credit: p.tell()}.Append(p.e.packetBuffer()))
	}
}
