package secure

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// An Initiator requests one connection:
//
//	INIT without cookie ──RETRY──► INIT with it ──RESPONSE──► connected
//	        │                        │  ▲  └ RETRY ┐   └────► rejected
//	        └─ REFUSED, repeatedly ──┤  └──────────┘
//	                                 └─────────────────────► refused
//
// Its owner sends Packet until an answer comes or its own timeout passes.
type Initiator struct {
	guard   *Guard
	server  PublicKey // with static keys: that of the other side
	clear   wire.Init // without the sealed part
	private []byte
	shaker  shaker // once there is a cookie
	packet  []byte
	sends   int       // of packet
	before  handshake // with another cookie
	refusal wire.Code
	refused int // number of times in a row, for the same reason
	peer    Peer
	seal    [wire.TagLen]byte // end of the RESPONSE that was accepted
	state   initState
}

type initState uint8

const (
	initAsking initState = iota
	initConnected
	initFailed
)

// An Outcome says what a packet changed for an Initiator.
type Outcome uint8

const (
	// Ignored: nothing; the error says why. Continue to send.
	Ignored Outcome = iota
	// Again: send Packet at once. It is a new one, or the same again because the answer is doubtful.
	Again
	// Connected: Peer is the other side. Send it a packet at once, so that it learns that its answer arrived.
	Connected
	// Repeated: the answer that led to Connected came again, so the other side has received no packet from us yet.
	// Send it another packet.
	Repeated
	// Failed: the connection cannot be made; the error says why. It is a *RefusedError or a *RejectedError, or
	// ErrPayload.
	Failed
)

func (o Outcome) String() string {
	switch o {
	case Ignored:
		return "ignored"
	case Again:
		return "again"
	case Connected:
		return "connected"
	case Repeated:
		return "repeated"
	case Failed:
		return "failed"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Initiate begins an attempt to connect. to is the address of the other side, HOST:PORT as given to Connect. With
// static keys it selects the key to expect there; if there is none, the error is ErrServer. id is the other side's id
// for the connection, random and not 0. port is that of our data lane. private is for the accepting side, at most
// wire.PrivateMax bytes; it is copied.
func (g *Guard) Initiate(to string, id uint32, port uint16, private []byte) (*Initiator, error) {
	if len(private) > wire.PrivateMax {
		return nil, fmt.Errorf("%w: private data of %d bytes", ErrPrivate, len(private))
	}
	if id == 0 {
		panic("secure: a connection has the id 0")
	}
	i := &Initiator{guard: g}
	if g.cfg.Identity != nil {
		var ok bool
		if i.server, ok = g.cfg.Identity.Servers.Key(to); !ok {
			return nil, fmt.Errorf("%w %s", ErrServer, to)
		}
	}
	var nonce [8]byte
	if _, err := io.ReadFull(g.cfg.Random, nonce[:]); err != nil {
		return nil, err
	}
	i.private = append([]byte(nil), private...)
	i.clear = wire.Init{Mode: g.mode, Version: wire.Version, From: id, Nonce: binary.LittleEndian.Uint64(nonce[:]), Port: port}
	// The sealed part of an INIT without a cookie is not read.
	size := g.mode.InitBytes()
	i.packet = i.clear.Append(make([]byte, 0, size))[:size]
	return i, nil
}

// Packet returns the INIT to be sent now. Every call counts as one transmission of it.
func (i *Initiator) Packet() []byte {
	i.sends++
	return i.packet
}

// Quoted reports whether a quoted beginning of a packet proves that its sender has seen an INIT of this attempt: the
// INIT's nonce is random and cannot be guessed.
func (i *Initiator) Quoted(quote []byte) bool {
	return len(quote) >= wire.InitFixed && bytes.Equal(quote[:wire.InitFixed], i.packet[:wire.InitFixed])
}

// ID is our id of the connection.
func (i *Initiator) ID() uint32 { return i.clear.From }

// Peer is the other side, once an Outcome was Connected.
func (i *Initiator) Peer() Peer { return i.peer }

// Input handles a RETRY, RESPONSE or REFUSED that is addressed to ID and came from the address to which the INIT was
// sent.
func (i *Initiator) Input(from netip.AddrPort, packet []byte) (Outcome, error) {
	kind, _ := wire.KindOf(packet)
	switch {
	case i.state == initConnected && i.accepted(packet):
		return Repeated, nil
	case i.state != initAsking:
		return Ignored, ErrUnexpected
	case kind == wire.KindRetry:
		return i.retry(from, packet)
	case kind == wire.KindResponse:
		return i.response(packet)
	case kind == wire.KindRefused:
		return i.refuse(packet)
	}
	return Ignored, wire.ErrKind
}

func (i *Initiator) retry(from netip.AddrPort, packet []byte) (Outcome, error) {
	m, err := wire.ParseRetry(packet)
	if err != nil {
		return Ignored, err
	}
	switch {
	case m.To != i.clear.From || m.Nonce != i.clear.Nonce:
		return Ignored, ErrUnexpected
	case i.shaker != nil && (i.sends < 2 || m.Cookie == i.clear.Cookie):
		// The latest INIT had no time to be answered: this RETRY belongs to the one before, or is an attack to keep us
		// busy.
		return Ignored, ErrUnexpected
	}
	// The cookie is part of what is sealed next, so a new cookie means a new handshake. If the previous cookie had
	// been damaged in transit, it may be the handshake before that one again, which the other side may know and have
	// answered.
	now := handshake{i.clear.Cookie, i.shaker, i.packet}
	if i.before.shaker != nil && m.Cookie == i.before.cookie {
		i.clear.Cookie, i.shaker, i.packet, i.sends = i.before.cookie, i.before.shaker, i.before.packet, 0
		i.before = now
		return Again, nil
	}
	i.before.forget()
	i.before = now
	i.clear.Cookie = m.Cookie
	s := i.guard.shaker(i.server)
	payload := wire.InitPayload{Token: i.guard.Token(i.clear.From, from.Addr()), Ciphers: i.guard.cfg.Ciphers, Private: i.private}
	if i.guard.cfg.Listening {
		payload.Name = i.guard.cfg.Name
	}
	if i.guard.mode == wire.ModeInsecure {
		payload.Ciphers = 0
	}
	next, err := s.sealInit(i.clear.Append(nil), payload.Append(nil))
	if err != nil {
		return i.fail(err)
	}
	i.shaker, i.packet, i.sends = s, next, 0
	return Again, nil
}

func (i *Initiator) response(packet []byte) (Outcome, error) {
	m, err := wire.ParseResponse(packet)
	if err != nil {
		return Ignored, err
	}
	if i.shaker == nil || m.To != i.clear.From || m.Nonce != i.clear.Nonce || m.Mode != i.guard.mode {
		return Ignored, ErrUnexpected
	}
	sealed, s, err := i.shaker.openResponse(packet)
	if err != nil {
		return Ignored, err
	}
	p, err := wire.ParseResponsePayload(sealed)
	switch {
	case errors.Is(err, wire.ErrInvalid):
		return i.fail(ErrPayload) // sealed by a host that has the key
	case err != nil:
		return Ignored, err
	case p.From != m.From || p.Port != m.Port:
		// A changed clear part must not make us give up.
		return Ignored, i.again()
	case p.Rejected:
		return i.fail(&RejectedError{Reason: append([]byte(nil), p.Reason...)})
	case !i.offered(p.Cipher):
		return i.fail(ErrPayload)
	}
	i.peer = Peer{Session: newSession(i.guard.mode, p.Cipher, s), ID: p.From, Port: p.Port, Token: p.Token, Cipher: p.Cipher}
	if id := i.guard.cfg.Identity; id != nil {
		i.peer.Name = id.Name(i.server)
	}
	i.state = initConnected
	copy(i.seal[:], packet[len(packet)-len(i.seal):])
	i.forget()
	return Connected, nil
}

// accepted recognises the RESPONSE that led to the connection. Only a host that has seen it can send it again, and our
// reaction is a smaller packet.
func (i *Initiator) accepted(packet []byte) bool {
	m, err := wire.ParseResponse(packet)
	return err == nil && m.To == i.clear.From && m.Nonce == i.clear.Nonce && bytes.HasSuffix(packet, i.seal[:])
}

// forget drops the secrets from which the keys of the connection came: an attacker that reads our memory later must
// not be able to compute earlier keys.
func (i *Initiator) forget() {
	if i.shaker != nil {
		i.shaker.forget()
	}
	i.before.forget()
	i.shaker, i.private, i.before = nil, nil, handshake{}
}

// A handshake is the state that belongs to one cookie.
type handshake struct {
	cookie wire.Cookie
	shaker shaker // nil: without a cookie nothing is sealed
	packet []byte // the INIT
}

func (h handshake) forget() {
	if h.shaker != nil {
		h.shaker.forget()
	}
}

// again restores the state so that the genuine answer can still be read.
func (i *Initiator) again() error {
	if n, ok := i.shaker.(*noiseShaker); ok {
		if _, err := n.again(); err != nil {
			return err
		}
	}
	return ErrForged
}

// offered reports whether the other side may choose this cipher.
func (i *Initiator) offered(c wire.Ciphers) bool {
	if i.guard.mode == wire.ModeInsecure {
		return c == 0
	}
	return c == wire.CipherChaCha || c == wire.CipherAES && i.guard.cfg.Ciphers&wire.CipherAES != 0
}

// refuse handles a REFUSED, but does not believe the first one: it is unprotected, and an INIT damaged in transit is
// refused too.
func (i *Initiator) refuse(packet []byte) (Outcome, error) {
	m, err := wire.ParseRefused(packet)
	if err != nil {
		return Ignored, err
	}
	if m.To != i.clear.From || m.Nonce != i.clear.Nonce {
		return Ignored, ErrUnexpected
	}
	if m.Code != i.refusal {
		i.refusal, i.refused = m.Code, 0
	}
	if i.refused++; i.refused < RefusalsMin {
		return Again, nil
	}
	refused := &RefusedError{Code: m.Code, Version: m.Version, Mode: i.guard.mode}
	refused.Theirs, _ = m.Code.Uses()
	if id := i.guard.cfg.Identity; id != nil {
		refused.Key = id.Private.Public()
	}
	return i.fail(refused)
}

func (i *Initiator) fail(err error) (Outcome, error) {
	i.state = initFailed
	i.forget()
	return Failed, err
}
