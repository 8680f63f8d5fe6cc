package udp

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/message"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A Port is the NIC's half of one VI. Its queue belongs to the present connection, or to the next one.
type Port struct {
	dev    *Device
	attrs  nic.PortAttrs
	cookie any
	queue  *message.Queue
	number uint64 // in the order in which the device made them
	conn   *conn
	closed bool
	ended  bool          // every descriptor came back
	last   netstats.Link // of the connection that ended
}

var _ nic.Authenticator = (*Port)(nil)

// OpenPort implements nic.Device.
func (d *Device) OpenPort(attrs nic.PortAttrs, cookie any) (nic.Port, error) {
	switch {
	case d.closed:
		return nil, nic.ErrClosed
	case attrs.Reliability > nic.ReliableReception:
		return nil, fmt.Errorf("udp: unknown reliability level %d", attrs.Reliability)
	case attrs.RecvDepth < 1 || attrs.RecvDepth > RecvDepthMax || attrs.SendDepth < 1 || attrs.SendDepth > SendDepthMax:
		return nil, fmt.Errorf("udp: queues of %d and %d descriptors, from 1 to %d and %d are possible",
			attrs.RecvDepth, attrs.SendDepth, RecvDepthMax, SendDepthMax)
	case len(d.ports) >= PortsMax:
		return nil, fmt.Errorf("udp: all %d ports are in use, close some: %w", PortsMax, nic.ErrAgain)
	}
	d.portsMade++
	p := &Port{dev: d, attrs: attrs, cookie: cookie, number: d.portsMade}
	p.queue = message.New(message.Config{
		Attrs: attrs,
		Limits: message.Limits{
			MTUBytes: MTUBytes, RDMABytesMax: RDMABytesMax, SegmentsMax: SegmentsMax,
			PriorityBytes: PriorityBytes, CopyBytes: CopyBytes, InlineBytesMax: nic.InlineMax,
		},
		Memory: p, Buffers: d, Pool: d.pool,
	})
	d.ports[p] = struct{}{}
	return p, nil
}

func (p *Port) compare(other *Port) int { return cmp.Compare(p.number, other.number) }

// PostRecv implements nic.Port.
func (p *Port) PostRecv(desc *nic.Descriptor) error {
	switch {
	case p.closed || p.dev.closed:
		return nic.ErrClosed
	case p.ended:
		return nic.ErrNotConnected
	}
	return p.queue.PostRecv(desc)
}

// PostSend implements nic.Port. The first post since the last Poll is sent at once; others wait for the Poll, which
// sends many with one system call.
func (p *Port) PostSend(desc *nic.Descriptor) (done bool, err error) {
	c := p.conn
	switch {
	case p.closed || p.dev.closed:
		return false, nic.ErrClosed
	case c == nil || c.state != connOpen:
		return false, nic.ErrNotConnected
	}
	if done, err = p.queue.PostSend(desc); err == nil {
		p.dev.posted(c)
	}
	return done, err
}

// SourceAddr implements nic.Sourcer.
func (p *Port) SourceAddr() netip.AddrPort {
	if p.conn == nil {
		return netip.AddrPort{}
	}
	at := p.conn.remote[wire.LanePriority]
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}

// AuthenticatedName implements nic.Authenticator. The name claimed by an accepted side is proved by its first packet.
func (p *Port) AuthenticatedName() string {
	if p.conn == nil || p.conn.state != connOpen {
		return ""
	}
	return p.conn.client
}

// Disconnect implements nic.Port.
func (p *Port) Disconnect() {
	switch {
	case p.closed || p.dev.closed || p.ended:
	case p.conn != nil:
		p.conn.leave()
	case p.queue.Receives() > 0:
		p.end(nil)
	}
}

// end returns every descriptor and reports the end of the connection.
func (p *Port) end(err error) {
	p.last = p.LinkStats()
	p.ended, p.conn = true, nil
	p.queue.Flush(nic.StatusFlushed)
	p.collect()
	p.report(nic.EventDisconnected, &nic.ConnEvent{Err: err})
}

// collect makes events of the descriptors that the queue returned.
func (p *Port) collect() {
	for desc := p.queue.Completed(); desc != nil; desc = p.queue.Completed() {
		kind := nic.EventSend
		if desc.Op == nic.OpRecv {
			kind = nic.EventRecv
		}
		p.dev.push(nic.Event{Kind: kind, Cookie: p.cookie, Desc: desc})
	}
}

func (p *Port) report(kind nic.EventKind, ev *nic.ConnEvent) {
	p.dev.push(nic.Event{Kind: kind, Cookie: p.cookie, Conn: ev})
}

// Close implements nic.Port.
func (p *Port) Close() error {
	switch {
	case p.closed || p.dev.closed:
		return nic.ErrClosed
	case p.conn != nil:
		return fmt.Errorf("udp: the port is connected, disconnect it first")
	}
	p.closed = true
	p.queue.Close()
	delete(p.dev.ports, p)
	return nil
}

// Covers implements message.Memory.
func (p *Port) Covers(s nic.Segment) bool { return p.dev.memory.covers(s.Handle, s.Data, p.attrs.Tag) }

// Writable implements message.Memory.
func (p *Port) Writable(addr uint64, h nic.Handle, n int) ([]byte, bool) {
	if !p.attrs.RemoteWrite {
		return nil, false
	}
	return p.dev.memory.remote(addr, h, n, p.attrs.Tag, nic.AccessRemoteWrite)
}

// Readable implements message.Memory.
func (p *Port) Readable(addr uint64, h nic.Handle, n int) ([]byte, bool) {
	if !p.attrs.RemoteRead {
		return nil, false
	}
	return p.dev.memory.remote(addr, h, n, p.attrs.Tag, nic.AccessRemoteRead)
}
