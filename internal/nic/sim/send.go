package simnic

import (
	"fmt"
	"math"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A work is one descriptor of a send queue, until it comes back.
type work struct {
	p       *Port
	d       *nic.Descriptor
	data    []byte        // the payload, once the NIC has read it
	status  nic.Status    // StatusPending until finished
	seen    time.Duration // when the owner may see the completion
	left    bool          // has been sent
	aborted bool          // the descriptor has already been returned
}

// PostSend appends a send or RDMA descriptor.
func (p *Port) PostSend(d *nic.Descriptor) (done bool, err error) {
	w := p.w()
	p.dev.enter()
	defer w.leave()
	switch {
	case p.dev.dead || p.state == closed:
		return false, nic.ErrClosed
	case p.state != connected:
		return false, nic.ErrNotConnected
	case len(p.works) >= p.attrs.SendDepth || p.dev.turnAway():
		return false, nic.ErrAgain
	}
	length, err := p.checkSend(d)
	if err != nil {
		return false, err
	}
	d.Status, d.Length, d.Data = nic.StatusPending, 0, nil
	k := &work{p: p, d: d}
	if status := p.checkLocal(d, length); status != nic.StatusSuccess {
		p.works = append(p.works, k)
		k.finish(status)
		p.breakIfReliable(status)
		return false, nil
	}
	if p.finishesNow(d) {
		k.finishNow(length)
		return true, nil
	}
	p.works = append(p.works, k)
	p.departs = max(p.departs, w.sim.Now()+w.sim.Between(0, w.opts.PostDelayMax))
	w.sim.At(p.departs, k.depart)
	return false, nil
}

// finishNow sends a send, and the works before it, at once: whatever happens next,
// it was sent.
func (k *work) finishNow(length int) {
	for _, before := range k.p.works {
		before.depart()
	}
	d := k.d
	d.Status, d.Length = nic.StatusSuccess, length
	k.data = gather(d)
	k.status = nic.StatusSuccess
	k.depart()
	k.d = nil // its owner has it back
}

// checkSend finds errors that make PostSend fail.
func (p *Port) checkSend(d *nic.Descriptor) (length int, err error) {
	caps := p.dev.caps
	switch {
	case d.Op == nic.OpRecv || d.Op > nic.OpRDMARead:
		return 0, fmt.Errorf("sim: a descriptor of kind %d on the send queue", d.Op)
	case d.Op == nic.OpRDMAWrite && !caps.RDMAWrite, d.Op == nic.OpRDMARead && !caps.RDMARead:
		return 0, fmt.Errorf("sim: the device has no RDMA of kind %d", d.Op)
	case d.Op == nic.OpRDMARead && p.attrs.Reliability == nic.Unreliable:
		return 0, fmt.Errorf("sim: RDMA read needs a reliable port")
	case d.File.File != nil && (!caps.FileWrites || d.Op != nic.OpRDMAWrite || len(d.Segments) > 0):
		return 0, fmt.Errorf("sim: the device does not move bytes of files in this way")
	case len(d.Segments) > caps.SegmentsMax:
		return 0, fmt.Errorf("sim: %d segments, at most %d", len(d.Segments), caps.SegmentsMax)
	}
	return d.Size(), nil
}

// checkLocal finds errors with which the descriptor completes.
func (p *Port) checkLocal(d *nic.Descriptor, length int) nic.Status {
	caps := p.dev.caps
	limit := caps.MTUBytes
	if d.Op != nic.OpSend {
		limit = caps.RDMABytesMax
	}
	if length > limit {
		return nic.StatusLengthError
	}
	for _, s := range d.Segments {
		if s.Handle == 0 && caps.UnregisteredSend {
			continue
		}
		if !p.dev.covers(s, p.attrs.Tag) {
			return nic.StatusProtectionError
		}
	}
	return nic.StatusSuccess
}

// finishesNow decides whether a send is finished when PostSend returns.
func (p *Port) finishesNow(d *nic.Descriptor) bool {
	if d.Op != nic.OpSend || p.attrs.Reliability == nic.ReliableReception {
		return false
	}
	return p.dev.caps.CopiesOnPost || p.w().sim.Chance(p.w().opts.DoneNow)
}

func gather(d *nic.Descriptor) (data []byte) {
	for _, s := range d.Segments {
		data = append(data, s.Data...)
	}
	return data
}

// depart is called when the NIC sends a work. Only now does it read the data of a
// send, so that a buffer that was changed too early is noticed.
func (k *work) depart() {
	p := k.p
	if k.left || k.aborted || p.state != connected {
		return
	}
	k.left = true
	w := p.w()
	if k.status == nic.StatusPending && w.sim.Chance(w.opts.FailSend) {
		k.finish(nic.StatusTransportError)
		p.conn.fail(fmt.Errorf("sim: the link failed: %w", nic.ErrTimeout))
		return
	}
	if k.d.Op == nic.OpSend && k.data == nil {
		k.data = gather(k.d)
	}
	if k.d.File.File != nil {
		k.data = make([]byte, k.d.File.Len)
		if k.d.FileErr = k.d.File.Fill(k.data, 0); k.d.FileErr != nil {
			k.finish(nic.StatusFileError)
			p.breakIfReliable(nic.StatusFileError)
			return
		}
	}
	out := p.conn.out(p)
	if p.attrs.Reliability == nic.Unreliable {
		k.departUnreliable(out)
		return
	}
	switch k.d.Op {
	case nic.OpSend:
		m := message{data: k.data, length: len(k.data), flags: k.d.Flags, immediate: k.d.Immediate}
		out.put(&packet{deliver: func(h *half) { k.arrive(h, m) }})
		if p.attrs.Reliability == nic.ReliableDelivery {
			k.finish(nic.StatusSuccess)
		}
	case nic.OpRDMAWrite:
		out.put(&packet{rdma: true, deliver: k.write})
	case nic.OpRDMARead:
		out.put(&packet{rdma: true, deliver: k.read})
	}
}

// arrive is called when a reliable send reaches the other side.
func (k *work) arrive(h *half, m message) {
	to := h.to()
	if to.conn != h.c {
		return
	}
	status := to.receive(m)
	if status != nic.StatusSuccess {
		k.refused(h, status)
		return
	}
	if k.status == nic.StatusPending {
		h.c.w.sim.After(h.backDelay(), func() { k.finish(nic.StatusSuccess) })
	}
}

// refused ends a reliable connection because the remote side could not take a
// work.
func (k *work) refused(h *half, status nic.Status) {
	k.finish(status)
	switch status {
	case nic.StatusNoDescriptor:
		h.c.fail(fmt.Errorf("%w: %w", errNoRecv, nic.ErrProtocol))
	case nic.StatusLengthError:
		h.c.fail(fmt.Errorf("sim: a message was longer than its receive: %w", nic.ErrProtocol))
	default:
		h.c.fail(fmt.Errorf("sim: an RDMA request named memory that may not be accessed so: %w", nic.ErrProtocol))
	}
}

// departUnreliable sends once; the link may lose, repeat or delay it.
func (k *work) departUnreliable(out *half) {
	taken := false
	m := message{data: k.data, length: len(k.data), flags: k.d.Flags, immediate: k.d.Immediate}
	remote, op := k.d.Remote, k.d.Op
	if op == nic.OpRDMAWrite {
		m.data = append(k.data, gather(k.d)...)
	}
	c := out.c
	to := out.to()
	out.link().Send(func(corrupt bool) {
		if corrupt || taken || to.conn != c || to.state != connected {
			return
		}
		taken = true
		if op == nic.OpRDMAWrite {
			to.placeUnreliable(remote, m)
		} else if to.receive(m) == nic.StatusNoDescriptor {
			to.reportConn(nic.EventError, nic.ConnEvent{Err: errNoRecv})
		}
	})
	k.finish(nic.StatusSuccess)
}

// breakIfReliable ends a reliable connection after an error of this side, as the
// VI Architecture demands.
func (p *Port) breakIfReliable(status nic.Status) {
	if p.attrs.Reliability != nic.Unreliable {
		p.conn.fail(fmt.Errorf("sim: a posted descriptor ended with status %d: %w", status, nic.ErrNotConnected))
	}
}

// finish records the result of a work. The owner sees it some time later, after
// the earlier works.
func (k *work) finish(status nic.Status) {
	if k.aborted || k.status != nic.StatusPending {
		return
	}
	w := k.p.w()
	k.status = status
	k.seen = w.sim.Now() + w.sim.Between(0, w.opts.SendDelayMax)
	if k.seen == w.sim.Now() {
		k.p.settle()
		return
	}
	w.sim.At(k.seen, k.p.settle)
}

// settle returns the oldest works that are finished and visible.
func (p *Port) settle() {
	now := p.w().sim.Now()
	for len(p.works) > 0 && p.works[0].status != nic.StatusPending && p.works[0].seen <= now {
		k := p.works[0]
		p.works = p.works[1:]
		k.settled()
		p.report(nic.EventSend, k.d)
	}
}

// settled writes the result into the descriptor and so returns it.
func (k *work) settled() {
	k.aborted = true
	k.d.Status = k.status
	if k.status == nic.StatusSuccess {
		k.d.Length = k.d.Size()
	}
}

// abort returns a work because the connection ended.
func (k *work) abort() {
	if k.status == nic.StatusPending {
		k.status = nic.StatusFlushed
	}
	k.settled()
	k.seen = math.MaxInt64
}
