package fault

import (
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A port injects faults into another one. It is the cookie of the wrapped port.
type port struct {
	inner      nic.Port
	dev        *Device
	cookie     any
	unreliable bool
	connected  bool // EventConnected was seen, EventDisconnected was not
	broken     bool // this package asked for the disconnect
	left       bool // the owner asked for it
	gap        bool // a receive of this connection was made to fail
	late       []lateEvent
}

// OpenPort may fail.
func (d *Device) OpenPort(attrs nic.PortAttrs, cookie any) (nic.Port, error) {
	if d.at(OnOpenPort, false) == Fail {
		return nil, fmt.Errorf("fault: open port: %w", ErrInjected)
	}
	p := &port{dev: d, cookie: cookie, unreliable: attrs.Reliability == nic.Unreliable}
	inner, err := d.inner.OpenPort(attrs, p)
	if err != nil {
		return nil, err
	}
	p.inner = inner
	return p, nil
}

// Connect may fail, at once or by a refusal of the remote side.
func (p *port) Connect(addr string, private []byte, timeout time.Duration) error {
	switch p.dev.at(OnConnect, p.unreliable) {
	case Fail:
		return fmt.Errorf("fault: connect to %s: %w", addr, ErrInjected)
	case Refuse:
		p.hold(nic.Event{Kind: nic.EventConnectFailed, Cookie: p.cookie, Conn: &nic.ConnEvent{
			Remote: addr,
			Err:    fmt.Errorf("%w: %w", ErrInjected, &nic.RejectError{Remote: addr, Reason: []byte("fault")}),
		}}, 1)
		return nil
	}
	return p.inner.Connect(addr, private, timeout)
}

// Accept may fail, without touching the request.
func (d *Device) Accept(req nic.RequestID, np nic.Port) error {
	p, ok := np.(*port)
	if !ok {
		return errors.New("fault: accept with a port of another device")
	}
	if d.at(OnAccept, p.unreliable) == Fail {
		return fmt.Errorf("fault: accept: %w", ErrInjected)
	}
	return d.inner.Accept(req, p.inner)
}

// Reject is the wrapped device's.
func (d *Device) Reject(req nic.RequestID, reason []byte) error { return d.inner.Reject(req, reason) }

// Disconnect is the wrapped port's. A refusal that this package made up and did not
// report yet is still reported; the receives flushed by the wrapped port, which is
// idle, come behind it.
func (p *port) Disconnect() {
	p.left = true
	if !p.broken {
		p.inner.Disconnect()
	}
}

// Close is the wrapped port's.
func (p *port) Close() error { return p.inner.Close() }

// breakUp breaks a connection: a disconnect that the owner did not ask for.
func (p *port) breakUp() {
	if p.connected && !p.broken && !p.left {
		p.broken = true
		p.inner.Disconnect()
	}
}

// connection inspects a connection event on its way to the owner.
func (p *port) connection(ev *nic.Event) {
	switch ev.Kind {
	case nic.EventConnected:
		p.connected, p.broken, p.left, p.gap = true, false, false, false
	case nic.EventDisconnected:
		if p.broken && !p.left {
			ev.Conn = &nic.ConnEvent{Err: fmt.Errorf("fault: the connection broke: %w", ErrInjected)}
		} else if p.left {
			ev.Conn = &nic.ConnEvent{}
		}
		p.connected = false
	}
}

// RDMAUsable implements nic.RDMAPort for the port below.
func (p *port) RDMAUsable() bool { return nic.RDMAUsable(p.inner) }

// LinkStats implements nic.LinkCounter for the port below.
func (p *port) Window() (most, used int) { return nic.WindowOf(p.inner) }

func (p *port) LinkStats() netstats.Link { return nic.LinkStatsOf(p.inner) }
