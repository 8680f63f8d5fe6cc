package secure

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// An Initiator asks for one connection:
//
//	INIT without cookie ──RETRY──► INIT with it ──RESPONSE──► connected
//	        │                        │  ▲  └ RETRY ┐   └────► rejected
//	        └─ REFUSED, repeatedly ──┤  └──────────┘
//	                                 └─────────────────────► refused
//
// Its owner sends Packet until an answer comes or its patience ends.
type Initiator struct {
	guard   *Guard
	server  PublicKey // with static keys: of the other side
	clear   wire.Init // without the sealed part
	private []byte
	shaker  shaker // once there is a cookie
	packet  []byte
	sends   int       // of packet
	before  handshake // with another cookie
	refusal wire.Code
	refused int // so many times in a row, for that reason
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
	// Ignored: nothing; the error says why. Go on sending.
	Ignored Outcome = iota
	// Again: send Packet at once. It is another one now, or the same once more,
	// because the answer is hard to believe.
	Again
	// Connected: Peer is the other side. Send it a packet at once, as that is
	// how it learns that its answer arrived.
	Connected
	// Repeated: the answer that led to Connected came again, so the other side has
	// not heard of us yet. Send it another packet.
	Repeated
	// Failed: there will be no connection; the error says why. It is a
	// *RefusedError or a *RejectedError, or ErrPayload.
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

// Initiate begins an attempt to connect. to is the address of the other side, HOST:PORT
// as it was asked for; it chooses the static key to expect there, if there are such keys: ErrServer. id is
// what the other side is to call the connection by, random and not 0; port is that of our data lane; private is
// for whoever accepts, at most wire.PrivateMax bytes, and not kept by reference.
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
	// Nobody reads what is sealed in an INIT without a cookie.
	size := g.mode.InitBytes()
	i.packet = i.clear.Append(make([]byte, 0, size))[:size]
	return i, nil
}

// Packet is the INIT that is to be sent now. Every call counts as one
// transmission of it.
func (i *Initiator) Packet() []byte {
	i.sends++
	return i.packet
}

// Quoted tells whether somebody who quotes the beginning of a packet has seen an
// INIT of this attempt: its nonce is random, and nobody else can know it.
func (i *Initiator) Quoted(quote []byte) bool {
	return len(quote) >= wire.InitFixed && bytes.Equal(quote[:wire.InitFixed], i.packet[:wire.InitFixed])
}

// ID is that of the connection, ours.
func (i *Initiator) ID() uint32 { return i.clear.From }

// Peer is the other side, once an Outcome was Connected.
func (i *Initiator) Peer() Peer { return i.peer }

// Input takes a RETRY, RESPONSE or REFUSED that is addressed to ID and came from where
// the INIT went.
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
		// The latest INIT has had no time to be answered: this RETRY belongs
		// to the one before, or wants to keep us busy.
		return Ignored, ErrUnexpected
	}
	// The cookie is sealed into what follows, so that is another handshake; or the one before once more, if the cookie
	// between the two was one that was damaged on its way. The other side may know that one, and have answered it.
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
		return i.fail(ErrPayload) // sealed by somebody with the key
	case err != nil:
		return Ignored, err
	case p.From != m.From || p.Port != m.Port:
		// Whoever changed the clear part cannot make us give up.
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

// accepted recognises the RESPONSE that led to the connection. Only who has seen it can
// send it again, and what that causes is smaller.
func (i *Initiator) accepted(packet []byte) bool {
	m, err := wire.ParseResponse(packet)
	return err == nil && m.To == i.clear.From && m.Nonce == i.clear.Nonce && bytes.HasSuffix(packet, i.seal[:])
}

// forget drops what the keys of the connection came from: who reads our memory later
// must not find what makes earlier ones again.
func (i *Initiator) forget() {
	if i.shaker != nil {
		i.shaker.forget()
	}
	i.before.forget()
	i.shaker, i.private, i.before = nil, nil, handshake{}
}

// A handshake is what was begun with one cookie.
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

// again lets the answer be read once more: the genuine one.
func (i *Initiator) again() error {
	if n, ok := i.shaker.(*noiseShaker); ok {
		if _, err := n.again(); err != nil {
			return err
		}
	}
	return ErrForged
}

// offered tells whether a cipher is one that the other side may choose.
func (i *Initiator) offered(c wire.Ciphers) bool {
	if i.guard.mode == wire.ModeInsecure {
		return c == 0
	}
	return c == wire.CipherChaCha || c == wire.CipherAES && i.guard.cfg.Ciphers&wire.CipherAES != 0
}

// refuse takes a REFUSED, but not at its first word: nothing protects it, and an INIT
// that was damaged on its way is refused although the whole one would not be.
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
