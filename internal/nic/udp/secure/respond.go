package secure

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// A Request is an INIT that was made with our key, or has a valid checksum if there is none, by a side that receives at
// its address. It waits for Accept, Reject or Refuse.
type Request struct {
	From    netip.AddrPort // the asking side's priority lane
	ID      uint32         // that side's id of the connection
	Port    uint16         // UDP port of that side's data lane
	Private []byte
	Name    string // that side's address; empty if it cannot be connected to
	// Client is the name of that side's static key in the list of clients; empty without static keys. An attacker that
	// has our private key can claim any name, until a packet of the connection is opened.
	Client string

	key    PublicKey
	guard  *Guard
	nonce  uint64
	theirs wire.InitPayload
	shaker shaker
	asked  *asked
	done   bool
}

// Respond handles an INIT that came from an address. The packet to be sent back at once, if any, is appended to b; it is
// never longer than the INIT. A repeated INIT gets the same answer again. A Request is returned once for every valid
// INIT. The error says why there is none: ErrCookie and a *RefusedError with an answer, others without one. It is nil for
// an INIT that was already answered or waits for a decision.
func (g *Guard) Respond(now time.Duration, from netip.AddrPort, packet, b []byte) (answer []byte, r *Request, err error) {
	m, err := wire.ParseInit(packet)
	switch {
	case err != nil:
		return b, nil, err
	case m.From == 0:
		return b, nil, wire.ErrInvalid
	case m.Version != wire.Version:
		return g.refuse(b, &m, wire.CodeVersion)
	case !g.cfg.Listening:
		return g.refuse(b, &m, wire.CodeNobody)
	case m.Mode != g.mode:
		return g.refuse(b, &m, wire.CodeUses(g.mode))
	}
	if err := g.cookies.turn(now); err != nil {
		return b, nil, err
	}
	if m.Cookie == (wire.Cookie{}) {
		return g.retry(b, from, &m)
	}
	g.memory.expire(now)
	name := g.memory.digest(from, packet)
	if known := g.memory.inits[name]; known != nil {
		return append(b, known.answer...), nil, nil
	}
	if !g.cookies.good(from, &m) {
		return g.retry(b, from, &m)
	}
	if g.memory.full() {
		return g.refuse(b, &m, wire.CodeBusy)
	}
	if g.mode.Static() && !g.strangers.may(now, from) {
		b, _, _ = g.refuse(b, &m, wire.CodeBusy)
		return b, nil, ErrStrangers
	}
	r, err = g.request(from, packet, &m)
	if g.mode.Static() && err != nil {
		g.strangers.failed(now, from)
	}
	var unknown *unknownError
	switch {
	case errors.Is(err, ErrKey):
		return g.refuse(b, &m, wire.CodeKey)
	case errors.As(err, &unknown):
		b, _, _ = g.refuse(b, &m, wire.CodeUnknown)
		return b, nil, &RefusedError{Code: wire.CodeUnknown, Version: m.Version, Mode: g.mode, Theirs: m.Mode, Here: true, Key: unknown.key}
	}
	if err != nil {
		return b, nil, err
	}
	r.asked = g.memory.add(name, now)
	return b, r, nil
}

func (g *Guard) retry(b []byte, from netip.AddrPort, m *wire.Init) ([]byte, *Request, error) {
	answer := wire.Retry{To: m.From, Nonce: m.Nonce, Cookie: g.cookies.give(from, m)}
	return answer.Append(b), nil, ErrCookie
}

func (g *Guard) refuse(b []byte, m *wire.Init, code wire.Code) ([]byte, *Request, error) {
	answer := wire.Refused{Code: code, Version: wire.Version, To: m.From, Nonce: m.Nonce}
	return answer.Append(b), nil, &RefusedError{Code: code, Version: m.Version, Mode: g.mode, Theirs: m.Mode, Here: true}
}

// request opens an INIT with a valid cookie.
func (g *Guard) request(from netip.AddrPort, packet []byte, m *wire.Init) (*Request, error) {
	s := g.shaker(PublicKey{})
	sealed, err := s.openInit(packet)
	if err != nil {
		return nil, err
	}
	var key PublicKey
	var client string
	if id := g.cfg.Identity; id != nil {
		key = s.(*noiseShaker).client()
		if client = id.Name(key); client == "" {
			s.forget()
			return nil, &unknownError{key}
		}
	}
	p, err := wire.ParseInitPayload(sealed)
	if err != nil {
		return nil, ErrPayload
	}
	p.Private = append([]byte(nil), p.Private...)
	return &Request{
		From: from, ID: m.From, Port: m.Port, Private: p.Private, Name: p.Name,
		Client: client, key: key, guard: g, nonce: m.Nonce, theirs: p, shaker: s,
	}, nil
}

// Owns reports whether this side would connect to the asking side at an address, that is, whether the list of servers has
// the asking side's static key for that address. Otherwise the asking side must not be taken for the endpoint of that
// name.
func (r *Request) Owns(address string) bool {
	id := r.guard.cfg.Identity
	if id == nil {
		return false
	}
	key, ok := id.Servers.Key(address)
	return ok && key == r.key
}

// Accept makes the connection. id is the other side's id for it, random and not 0, and port is that of our data lane. The
// returned packet must be sent to From, and repeated until a packet of the other side arrives; a repeated INIT gets it
// from Respond too. The other side has proved that it has the key but may have gone long ago: the first packet that
// Session opens shows that it is there.
func (r *Request) Accept(id uint32, port uint16) (packet []byte, p Peer, err error) {
	if id == 0 {
		panic("secure: a connection has the id 0")
	}
	payload := wire.ResponsePayload{From: id, Port: port, Token: r.guard.Token(id, r.From.Addr())}
	if r.guard.mode != wire.ModeInsecure {
		payload.Cipher = choose(r.guard.cfg.Ciphers, r.theirs.Ciphers)
	}
	packet, s, err := r.answer(&payload)
	if err != nil {
		return nil, Peer{}, err
	}
	return packet, Peer{
		Session: newSession(r.guard.mode, payload.Cipher, s),
		ID:      r.ID, Port: r.Port, Token: r.theirs.Token, Cipher: payload.Cipher,
		Name: r.Client,
	}, nil
}

// Reject rejects the request. The returned packet must be sent to From; reason, at most wire.ReasonMax bytes, is for the
// consumer there.
func (r *Request) Reject(reason []byte) (packet []byte, err error) {
	if len(reason) > wire.ReasonMax {
		return nil, fmt.Errorf("%w: a reason of %d bytes", ErrPrivate, len(reason))
	}
	packet, _, err = r.answer(&wire.ResponsePayload{Rejected: true, Reason: reason})
	return packet, err
}

// Refuse answers that the request cannot be decided, usually with wire.CodeBusy. The returned packet must be sent to
// From. Nothing is remembered: the same INIT may come again.
func (r *Request) Refuse(code wire.Code) (packet []byte, err error) {
	if r.done {
		return nil, ErrSettled
	}
	r.done = true
	r.guard.memory.forget(r.asked)
	packet, _, _ = r.guard.refuse(nil, &wire.Init{From: r.ID, Nonce: r.nonce}, code)
	return packet, nil
}

// answer seals an answer and remembers it.
func (r *Request) answer(payload *wire.ResponsePayload) (packet []byte, s secrets, err error) {
	if r.done {
		return nil, secrets{}, ErrSettled
	}
	r.done = true
	head := wire.Response{Mode: r.guard.mode, To: r.ID, Nonce: r.nonce, From: payload.From, Port: payload.Port}
	packet, s, err = r.shaker.sealResponse(head.Append(nil), payload.Append(nil))
	r.shaker.forget()
	if err != nil {
		r.guard.memory.forget(r.asked)
		return nil, secrets{}, err
	}
	r.asked.answer = packet
	return packet, s, nil
}
