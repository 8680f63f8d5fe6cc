package shm

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Port implements nic.Port and nic.RDMAPort.
type Port struct {
	dev    *Device
	cookie any
	attrs  nic.PortAttrs
	conn   *conn // nil: idle
	closed bool

	recvs nic.Queue
	sends nic.Queue // from the first descriptor that could not finish in PostSend
	// retired are former connections with buffers still on loan.
	retired []*conn
}

// OpenPort implements nic.Device. A depth of 0 means the maximum.
func (d *Device) OpenPort(attrs nic.PortAttrs, cookie any) (nic.Port, error) {
	if attrs.RecvDepth == 0 {
		attrs.RecvDepth = ringSlots
	}
	if attrs.SendDepth == 0 {
		attrs.SendDepth = SendDepthMax
	}
	switch {
	case d.closed:
		return nil, nic.ErrClosed
	case attrs.RecvDepth < 0 || attrs.RecvDepth > ringSlots || attrs.SendDepth < 0 || attrs.SendDepth > SendDepthMax:
		return nil, fmt.Errorf("shm: queue depths %d and %d, at most %d receives and %d sends",
			attrs.RecvDepth, attrs.SendDepth, ringSlots, SendDepthMax)
	case attrs.Reliability > nic.ReliableReception:
		return nil, fmt.Errorf("shm: unknown reliability level %d", attrs.Reliability)
	case len(d.ports) >= PortsMax:
		return nil, fmt.Errorf("shm: all %d ports are in use, close some: %w", PortsMax, nic.ErrAgain)
	}
	p := &Port{dev: d, cookie: cookie, attrs: attrs}
	d.ports[p] = struct{}{}
	return p, nil
}

// rights are the accesses that this port allows the other side.
func (p *Port) rights() rights {
	r := rights{tag: p.attrs.Tag}
	if p.attrs.RemoteWrite {
		r.access |= nic.AccessRemoteWrite
	}
	if p.attrs.RemoteRead {
		r.access |= nic.AccessRemoteRead
	}
	return r
}

// attach joins the port to a connection and grants the receives that are already posted.
func (p *Port) attach(c *conn) {
	p.conn, c.port = c, p
	for range p.recvs.Len() {
		c.grant()
	}
}

// detach makes the port idle again. Its loans stay mapped.
func (p *Port) detach(c *conn) {
	p.conn = nil
	if c.loans != 0 {
		p.retired = append(p.retired, c)
	}
}

// flush returns everything posted.
func (p *Port) flush() {
	for p.recvs.Head() != nil {
		p.giveBack(nic.EventRecv, p.recvs.Pop(), nic.StatusFlushed)
	}
	for p.sends.Head() != nil {
		p.giveBack(nic.EventSend, p.sends.Pop(), nic.StatusFlushed)
	}
}

func (p *Port) giveBack(kind nic.EventKind, d *nic.Descriptor, status nic.Status) {
	d.Status = status
	if status != nic.StatusSuccess {
		d.Length = 0
	}
	p.dev.push(nic.Event{Kind: kind, Cookie: p.cookie, Desc: d})
}

// Disconnect implements nic.Port. On a port without a connection it returns the posted receives, if
// there are any.
func (p *Port) Disconnect() {
	switch {
	case p.closed || p.dev.closed:
	case p.conn != nil:
		p.conn.end(nil, codeNone)
	case p.recvs.Head() != nil:
		p.flush()
		p.dev.push(nic.Event{Kind: nic.EventDisconnected, Cookie: p.cookie, Conn: &nic.ConnEvent{}})
	}
}

// Close implements nic.Port.
func (p *Port) Close() error {
	switch {
	case p.closed || p.dev.closed:
		return nic.ErrClosed
	case p.conn != nil:
		return fmt.Errorf("shm: port is connected, disconnect it first")
	}
	p.closed = true
	p.abandon()
	delete(p.dev.ports, p)
	return nil
}

// abandon takes back every loan.
func (p *Port) abandon() {
	for _, c := range p.retired {
		c.dropLoans()
	}
	p.retired = nil
}

// AuthenticatedName implements nic.Authenticator: the user that runs the other side, from
// SO_PEERCRED.
func (p *Port) AuthenticatedName() string {
	if p.conn == nil || p.conn.state != connOpen && p.conn.state != connDraining {
		return ""
	}
	return p.conn.peer.user.Name()
}

// RDMAUsable implements nic.RDMAPort.
func (p *Port) RDMAUsable() bool {
	return p.conn != nil && p.conn.reach && p.conn.reached
}
