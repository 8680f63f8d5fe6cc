package simnic

import (
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// target finds the memory of an RDMA request, if the port allows the access.
func (p *Port) target(remote nic.Remote, size int, access nic.Access) (*region, []byte) {
	allowed := p.attrs.RemoteWrite
	if access == nic.AccessRemoteRead {
		allowed = p.attrs.RemoteRead
	}
	r := p.dev.regions[remote.Handle]
	if !allowed || p.dev.dead || r == nil || r.closed || r.tag != p.attrs.Tag || r.access&access == 0 {
		return nil, nil
	}
	mem, ok := r.slice(remote.Addr, size)
	if !ok {
		return nil, nil
	}
	return r, mem
}

// source is the data of an RDMA write.
func (k *work) source() []nic.Segment {
	if k.d.File.File != nil {
		return []nic.Segment{{Data: k.data}}
	}
	return k.d.Segments
}

// transfer copies the bytes [from, to) of the segments to or from flat memory.
func transfer(segs []nic.Segment, mem []byte, from, to int, out bool) {
	at := 0
	for _, s := range segs {
		lo, hi := max(from, at), min(to, at+len(s.Data))
		if lo < hi {
			if out {
				copy(mem[lo:hi], s.Data[lo-at:hi-at])
			} else {
				copy(s.Data[lo-at:hi-at], mem[lo:hi])
			}
		}
		at += len(s.Data)
	}
}

// write is called when an RDMA write reaches the other side. The memory changes in
// two steps with time between them; later packets wait.
func (k *work) write(h *half) {
	to := h.to()
	if k.aborted || to.conn != h.c {
		return
	}
	size := k.d.Size()
	r, mem := to.target(k.d.Remote, size, nic.AccessRemoteWrite)
	if r == nil {
		k.refused(h, nic.StatusRDMAError)
		return
	}
	w := h.c.w
	r.inUse++
	h.busy = true
	transfer(k.source(), mem, 0, size/2, true)
	w.sim.After(w.sim.Between(0, w.opts.RDMATimeMax), func() {
		r.inUse--
		if k.aborted || to.conn != h.c || h.dead || to.dev.dead {
			return
		}
		transfer(k.source(), mem, size/2, size, true)
		h.busy = false
		k.written(h, size)
		h.arm()
	})
}

// written is called when all data of an RDMA write is in place.
func (k *work) written(h *half, size int) {
	if k.d.Flags&nic.FlagImmediate != 0 {
		m := message{length: size, flags: k.d.Flags, immediate: k.d.Immediate}
		if status := h.to().receive(m); status != nic.StatusSuccess {
			k.refused(h, status)
			return
		}
	}
	h.c.w.sim.After(h.backDelay(), func() { k.finish(nic.StatusSuccess) })
}

// placeUnreliable is called when an RDMA write arrives on an unreliable port.
func (p *Port) placeUnreliable(remote nic.Remote, m message) {
	_, mem := p.target(remote, len(m.data), nic.AccessRemoteWrite)
	if mem == nil {
		p.reportConn(nic.EventError, nic.ConnEvent{Err: nic.ErrProtocol})
		return
	}
	copy(mem, m.data)
	if m.flags&nic.FlagImmediate != 0 {
		m.length, m.data = len(m.data), nil
		p.receive(m)
	}
}

// read is called when an RDMA read request reaches the other side. The data comes
// back in two steps; later packets do not wait for it.
func (k *work) read(h *half) {
	to := h.to()
	if k.aborted || to.conn != h.c {
		return
	}
	size := k.d.Size()
	r, mem := to.target(k.d.Remote, size, nic.AccessRemoteRead)
	if r == nil {
		k.refused(h, nic.StatusRDMAError)
		return
	}
	w := h.c.w
	r.inUse++
	alive := func() bool { return !k.aborted && to.conn == h.c && !h.c.broken && !to.dev.dead }
	w.sim.After(h.backDelay(), func() {
		if !alive() {
			r.inUse--
			return
		}
		transfer(k.d.Segments, mem, 0, size/2, false)
		w.sim.After(w.sim.Between(0, w.opts.RDMATimeMax), func() {
			r.inUse--
			if alive() {
				transfer(k.d.Segments, mem, size/2, size, false)
				k.finish(nic.StatusSuccess)
			}
		})
	})
}
