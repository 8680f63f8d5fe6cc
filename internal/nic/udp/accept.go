package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/names"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A request is a connect request that waits for Accept or Reject.
type request struct {
	*secure.Request
	name  string
	local netip.Addr // the address that it was sent to
	at    time.Duration
}

// asked handles an INIT.
func (d *Device) asked(from netip.AddrPort, packet []byte) {
	answer, r, err := d.guard.Respond(d.now, from, packet, d.scratch[:0])
	if len(answer) > 0 {
		d.sendBare(wire.LanePriority, d.meant, from, answer)
	}
	if err != nil {
		d.turnedAway(from, err)
	}
	if r == nil {
		return
	}
	d.expireRequests()
	if len(d.requests) >= requestsMax {
		if packet, err := r.Refuse(wire.CodeBusy); err == nil {
			d.sendBare(wire.LanePriority, d.meant, from, packet)
		}
		d.stats.Busy++
		return
	}
	d.requestID++
	name := d.nameOf(from, r)
	d.requests[d.requestID] = &request{Request: r, name: name, local: d.meant, at: d.now}
	d.push(nic.Event{Kind: nic.EventConnectRequest, Conn: &nic.ConnEvent{
		Request: d.requestID, Remote: name, Private: r.Private,
	}})
}

// turnedAway counts an INIT without success. A wrong key is logged, but not for every packet, because any host can send
// such packets.
func (d *Device) turnedAway(from netip.AddrPort, err error) {
	var refused *secure.RefusedError
	switch {
	case errors.Is(err, secure.ErrCookie):
		d.stats.Cookies++
	case errors.Is(err, secure.ErrStrangers):
		d.stats.Strangers++
	case errors.As(err, &refused):
		d.stats.Refused++
		if refused.Code == wire.CodeUnknown {
			d.stats.Unknown++
		}
		if d.now >= d.warnAt {
			d.warnAt = d.now + warnEvery
			d.log.Warn("udp: a connect request was refused", "from", from.String(), "cause", err.Error()+keyHint(refused), "refused so far", d.stats.Refused)
		}
	default:
		d.stats.Malformed++
	}
}

// keyHint says where keys come from, if a refusal is about a key.
func keyHint(refused *secure.RefusedError) string {
	_, kinds := refused.Code.Uses()
	switch {
	case kinds && !refused.Mode.Static() && !refused.Theirs.Static():
		return " (see " + KeyFileEnv + ")"
	case kinds:
		return " (see " + KeyFileEnv + " and " + PrivateFileEnv + ")"
	case refused.Code == wire.CodeUnknown && refused.Here:
		return " (see " + ClientsFileEnv + ")"
	case refused.Code == wire.CodeKey && refused.Mode.Static() && !refused.Here:
		return " (see " + ServersFileEnv + ")"
	case refused.Code == wire.CodeKey && refused.Mode == wire.ModeNoise:
		return " (see " + KeyFileEnv + ")"
	}
	return ""
}

// peerName is the name of a requesting side: the address under which it can be connected to, or one that only identifies
// it. It comes from the network and appears in logs and errors, so only a valid address is accepted as a name.
func peerName(from netip.AddrPort, name string) string {
	t, err := names.Parse(name)
	switch {
	case err != nil || t.Port == 0:
		return "~" + from.String()
	case t.Host == "" || t.IP.IsUnspecified() || t.IP.Zone() != "":
		// The other side listens on all of its addresses, or its zone names an interface of its own: use the address of
		// the packet.
		return netip.AddrPortFrom(from.Addr(), t.Port).String()
	}
	return t.String()
}

// nameOf is the name of a requesting side. With static keys, an authenticated client gets the address that it claims
// only if this side would connect to the same key there. Otherwise it would get messages meant for another endpoint. Its
// name then says which client it is, so no other client can have that name, wherever it is.
func (d *Device) nameOf(from netip.AddrPort, r *secure.Request) string {
	name := peerName(from, r.Name)
	switch {
	case r.Client == "":
		return name
	case name[0] == '~':
	case r.Owns(name):
		return name
	default:
		d.stats.Unnamed++
		d.log.Debug("udp: a side gives itself an address that is not its own by the list of servers", "client", r.Client, "from", from.String(), "address", name)
	}
	return "~" + r.Client + "@" + from.String()
}

// expireRequests forgets requests that were neither accepted nor rejected in time.
func (d *Device) expireRequests() {
	for id, r := range d.requests {
		if d.now-r.at > requestLife {
			delete(d.requests, id)
		}
	}
}

// take removes a request that waits for an answer.
func (d *Device) take(id nic.RequestID) (*request, error) {
	r := d.requests[id]
	switch {
	case d.closed:
		return nil, nic.ErrClosed
	case r == nil:
		return nil, fmt.Errorf("udp: no connect request %d waits: %w", id, nic.ErrTimeout)
	}
	delete(d.requests, id)
	return r, nil
}

// Accept implements nic.Device.
func (d *Device) Accept(id nic.RequestID, np nic.Port) error {
	p, ok := np.(*Port)
	switch {
	case !ok || p.dev != d:
		return errors.New("udp: accept with a port of another device")
	case p.conn != nil || p.ended || p.closed:
		return errors.New("udp: the port is in use, accept with an idle one")
	}
	r, err := d.take(id)
	if err != nil {
		return err
	}
	c, err := d.newConn(p, connAccepted)
	if err != nil {
		return err
	}
	var peer secure.Peer
	if c.response, peer, err = r.Accept(c.id, d.dataPort()); err != nil {
		c.die()
		return fmt.Errorf("udp: %w", err)
	}
	d.now = d.clock()
	c.name, c.local = r.name, r.local
	c.remote = [wire.Lanes]netip.AddrPort{r.From, netip.AddrPortFrom(r.From.Addr(), r.Port)}
	c.until, c.again = d.now+answerLife, initAgainMin
	c.open(peer)
	p.conn = c
	c.answer()
	return nil
}

// Reject implements nic.Device.
func (d *Device) Reject(id nic.RequestID, reason []byte) error {
	if len(reason) > nic.RejectReasonMax {
		return fmt.Errorf("udp: a reason of %d bytes, at most %d", len(reason), nic.RejectReasonMax)
	}
	r, err := d.take(id)
	if err != nil {
		return err
	}
	packet, err := r.Reject(reason)
	if err != nil {
		return fmt.Errorf("udp: %w", err)
	}
	d.sendBare(wire.LanePriority, r.local, r.From, packet) // if it is lost, the INIT is repeated, and so is this packet
	return nil
}
