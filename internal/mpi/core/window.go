package core

import "github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"

// allows tells whether the peer's window has room for a message of n bytes.
func (p *Proc) allows(n uint32) bool { return p.charged-p.returned+n+chargeBytes <= p.window }

// allowsAnnouncement tells whether the peer has room for one more announcement. Announcements have
// much more room than messages: a message that is not received yet must not block one behind it
// from its receive (MPI-4.1, 3.5, progress).
func (p *Proc) allowsAnnouncement() bool {
	return p.charged-p.returned+chargeBytes <= p.window+announcedBytes
}

// tell returns the credit for a packet to the process.
func (p *Proc) tell() uint32 {
	p.told = p.consumed
	return p.consumed
}

// widen sets the window that the peer has for us. Before that it is windowMin, which every peer
// has.
func (p *Proc) widen(window uint32) {
	p.window = min(max(window, windowMin), windowMax)
}

// credit handles the peer's count of consumed bytes, which only grows. A peer with two connections
// may send an older count after a newer one.
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

// charge counts a packet that arrived, and returns whether the peer was allowed to send it. beside
// is the room in addition to the window.
func (p *Proc) charge(n, beside uint32) bool {
	p.arrived += n
	if p.arrived-p.consumed > uint32(p.e.cfg.Limits.WindowBytes)+beside {
		p.broke("it sent more than its window allows")
		return false
	}
	return true
}

// consume returns room to the peer. The peer learns of it from the next packet, or from a CREDIT
// when half of the window is owed.
func (p *Proc) consume(n uint32) {
	p.consumed += n
	if p.consumed-p.told < uint32(p.e.cfg.Limits.WindowBytes)/2 || p.err != nil || p.left {
		return
	}
	if l := p.any(); l != nil {
		l.post(wire.KindCredit, wire.Credit{Credit: p.tell()}.Append(p.e.packetBuffer()))
	}
}
