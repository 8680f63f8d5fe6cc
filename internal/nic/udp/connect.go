package udp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/fault"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Connect implements nic.Port. INITs are repeated, at growing intervals, until an
// answer comes or the time is over.
func (p *Port) Connect(addr string, private []byte, timeout time.Duration) error {
	d := p.dev
	switch {
	case d.closed || p.closed:
		return nic.ErrClosed
	case p.conn != nil || p.ended:
		return errors.New("udp: the port is in use, connect an idle one")
	case len(private) > nic.PrivateDataMax:
		return fmt.Errorf("udp: %d bytes of private data, at most %d may travel with a connect request", len(private), nic.PrivateDataMax)
	case timeout <= 0:
		timeout = connectTimeout
	}
	to, err := parseRemote(addr)
	if err != nil {
		return fmt.Errorf("udp: %q: %w", addr, err)
	}
	c, err := d.newConn(p, connDialing)
	if err != nil {
		return err
	}
	if c.initiator, err = d.guard.Initiate(to.String(), c.id, d.dataPort(), private); err != nil {
		c.die()
		if errors.Is(err, secure.ErrServer) {
			return fmt.Errorf("udp: %w: add a line with this address and its public key (see %s): %w", err, ServersFileEnv, nic.ErrKey)
		}
		return fmt.Errorf("udp: %w", err)
	}
	d.now = d.clock()
	c.name = addr
	c.since, c.until, c.again = d.now, d.now+timeout, initAgainMin
	p.conn = c
	c.resolve(to)
	return nil
}

// newConn makes a connection that the other side has not agreed to yet.
func (d *Device) newConn(p *Port, state connState) (*conn, error) {
	c := &conn{dev: d, port: p, queue: p.queue, state: state}
	for c.id == 0 || d.conns[c.id] != nil {
		var b [4]byte
		if _, err := io.ReadFull(d.opts.Random, b[:]); err != nil {
			return nil, fmt.Errorf("udp: no random numbers: %w", err)
		}
		c.id = binary.LittleEndian.Uint32(b[:])
	}
	d.conns[c.id] = c
	return c, nil
}

func (d *Device) dataPort() uint16 { return d.outs[wire.LaneData].socket.Addr().Port() }

// ask sends an INIT, and schedules a repetition.
func (c *conn) ask() {
	c.aim()
	packet := c.initiator.Packet()
	c.sendBare(packet)
	c.probe(packet)
	c.sendAgain(initAgainMax)
}

// answer sends the RESPONSE, and schedules a repetition.
func (c *conn) answer() {
	c.sendBare(c.response)
	c.sendAgain(answerAgainMax)
}

// sendAgain sets when a handshake packet is repeated.
func (c *conn) sendAgain(most time.Duration) {
	c.againAt = c.dev.now + c.again
	c.again = min(2*c.again, most)
	c.set()
}

// sendBare sends a handshake packet to the other side's priority lane.
func (c *conn) sendBare(packet []byte) {
	c.dev.sendBare(wire.LanePriority, c.local, c.remote[wire.LanePriority], packet)
}

// sendBare sends a packet that belongs to no connection yet, from the given address of
// this machine if there is one. If there is no room the packet is lost, as any datagram
// may be.
func (d *Device) sendBare(lane uint8, local netip.Addr, to netip.AddrPort, packet []byte) {
	o := &d.outs[lane]
	if !o.fits(len(packet)) && !d.flush(int(lane)) {
		return
	}
	from := len(o.pieces)
	o.pieces = append(o.pieces, append(o.take(len(packet)), packet...))
	o.put(dgram.Packet{From: local, To: to, Pieces: o.pieces[from:len(o.pieces):len(o.pieces)]}, nil)
	if !d.entered {
		d.flush(int(lane))
	}
}

// answered handles a RETRY, RESPONSE or REFUSED.
func (d *Device) answered(from netip.AddrPort, packet []byte, id uint32) {
	c := d.conns[id]
	if c == nil || !c.knows(from) {
		d.stats.Stray++
		return
	}
	if c.initiator == nil || c.state != connDialing && c.state != connOpen {
		d.stats.Stray++
		return
	}
	outcome, err := c.initiator.Input(from, packet)
	switch outcome {
	case secure.Again:
		c.answered = true
		c.again = initAgainMin
		c.ask()
	case secure.Connected:
		peer := c.initiator.Peer()
		c.remote[wire.LaneData] = netip.AddrPortFrom(from.Addr(), peer.Port)
		c.state = connOpen
		c.open(peer)
		c.endProbes()
		c.greet()
		c.port.report(nic.EventConnected, &nic.ConnEvent{Remote: c.name})
	case secure.Repeated:
		c.greet()
	case secure.Failed:
		c.fail(c.refusal(err))
	case secure.Ignored:
		d.stats.Stray++
	}
}

// greet sends an empty message, so that the other side knows that we are there.
func (c *conn) greet() {
	c.emit(wire.LanePriority, false)
	c.showData()
	if !c.dev.entered {
		c.dev.flush(wire.LanePriority)
		c.dev.flush(wire.LaneData)
	}
}

// refusal translates the reason why there is no connection into an error of package
// nic.
func (c *conn) refusal(err error) error {
	var rejected *secure.RejectedError
	if errors.As(err, &rejected) {
		return &nic.RejectError{Remote: c.name, Reason: rejected.Reason}
	}
	kind, hint := nic.ErrProtocol, ""
	var refused *secure.RefusedError
	if errors.As(err, &refused) {
		hint = keyHint(refused)
		switch refused.Code {
		case wire.CodeNobody, wire.CodeBusy:
			kind = nic.ErrUnreachable
		case wire.CodeVersion:
			kind = nic.ErrVersion
		case wire.CodeKey, wire.CodeUnknown:
			kind = nic.ErrKey
		}
		if _, ok := refused.Code.Uses(); ok {
			kind = nic.ErrKey
		}
	}
	return fault.Mark(fmt.Errorf("%w%s", err, hint), kind)
}
