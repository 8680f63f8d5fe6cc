package trace

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A port traces another one. It is the cookie of the wrapped port.
type port struct {
	nic.Port
	dev    *Device
	number int
	cookie any
}

func (p *port) String() string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("p%d", p.number)
}

// OpenPort traces.
func (d *Device) OpenPort(attrs nic.PortAttrs, cookie any) (nic.Port, error) {
	d.ports++
	p := &port{dev: d, number: d.ports, cookie: cookie}
	inner, err := d.inner.OpenPort(attrs, p)
	d.linef("%v open-port reliability=%d tag=%d recvs=%d sends=%d: %s", p,
		attrs.Reliability, attrs.Tag, attrs.RecvDepth, attrs.SendDepth, outcome(err))
	if err != nil {
		return nil, err
	}
	p.Port = inner
	return p, nil
}

// Connect traces.
func (p *port) Connect(addr string, private []byte, timeout time.Duration) error {
	err := p.Port.Connect(addr, private, timeout)
	p.dev.linef("%v connect %s private=%dB timeout=%v: %s", p, addr, len(private), timeout, outcome(err))
	return err
}

// Disconnect traces.
func (p *port) Disconnect() {
	p.dev.linef("%v disconnect", p)
	p.Port.Disconnect()
}

// Close traces.
func (p *port) Close() error {
	err := p.Port.Close()
	p.dev.linef("%v close: %s", p, outcome(err))
	return err
}

// Accept traces.
func (d *Device) Accept(req nic.RequestID, np nic.Port) error {
	p, ok := np.(*port)
	if !ok {
		return fmt.Errorf("trace: accept with a port of another device")
	}
	err := d.inner.Accept(req, p.Port)
	d.linef("%v accept: %s", p, outcome(err))
	return err
}

// Reject traces.
func (d *Device) Reject(req nic.RequestID, reason []byte) error {
	err := d.inner.Reject(req, reason)
	d.linef("- reject %q: %s", reason, outcome(err))
	return err
}

var kindNames = map[nic.EventKind]string{
	nic.EventRecv:           "recv",
	nic.EventSend:           "send",
	nic.EventConnectRequest: "connect-request",
	nic.EventConnected:      "connected",
	nic.EventConnectFailed:  "connect-failed",
	nic.EventDisconnected:   "disconnected",
	nic.EventError:          "error",
}

func (d *Device) event(p *port, ev *nic.Event) {
	kind, ok := kindNames[ev.Kind]
	if !ok {
		kind = fmt.Sprintf("event-%d", ev.Kind)
	}
	if ev.Desc != nil {
		d.linef("%v %s %s", p, kind, d.completion(ev.Desc, ev.Kind == nic.EventRecv))
		return
	}
	text := ""
	if c := ev.Conn; c != nil {
		if c.Remote != "" {
			text += " remote=" + c.Remote
		}
		if len(c.Private) > 0 {
			text += fmt.Sprintf(" private=%dB", len(c.Private))
		}
		if c.Err != nil {
			text += ": " + c.Err.Error()
		}
	}
	d.linef("%v %s%s", p, kind, text)
}

// RDMAUsable implements nic.RDMAPort for the port below.
func (p *port) RDMAUsable() bool { return nic.RDMAUsable(p.Port) }

// LinkStats implements nic.LinkCounter for the port below.
func (p *port) Window() (most, used int) { return nic.WindowOf(p.Port) }

func (p *port) LinkStats() netstats.Link { return nic.LinkStatsOf(p.Port) }
