package secure

import (
	"bytes"
	"testing"

	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// FuzzRespond: whatever comes, a guard with a key makes no request of it, and
// answers nothing larger.
func FuzzRespond(f *testing.F) {
	key := testKey(f, "a")
	dialler, listener := pair(f, key)
	i := dial(f, dialler)
	f.Add(bytes.Clone(i.Packet()))
	cookied(f, i, listener, 0)
	genuine := bytes.Clone(i.Packet())
	f.Add(genuine)
	f.Add((&wire.Init{Version: 9, From: 1}).Append(nil))
	f.Fuzz(func(t *testing.T, packet []byte) {
		if bytes.Equal(packet, genuine) {
			return
		}
		answer, r, err := listener.Respond(0, alice, packet, nil)
		if r != nil || err == nil || len(answer) > len(packet) {
			t.Fatalf("%v, answer of %d bytes to %d: %v", r, len(answer), len(packet), err)
		}
		if reset := listener.Reset(0, alice, packet, nil); len(reset) > len(packet) {
			t.Fatal("larger RESET")
		}
	})
}

// FuzzInitiator: whatever comes, an attempt that has a cookie does not end with a
// connection but by the genuine answer.
func FuzzInitiator(f *testing.F) {
	dialler, listener := pair(f, testKey(f, "a"))
	i := dial(f, dialler)
	genuine, _, err := requested(f, i, listener).Accept(7, 8)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(genuine)
	f.Add((&wire.Retry{To: i.ID(), Nonce: i.clear.Nonce, Cookie: wire.Cookie{1}}).Append(nil))
	f.Add((&wire.Refused{To: i.ID(), Code: wire.CodeKey}).Append(nil))
	f.Fuzz(func(t *testing.T, packet []byte) {
		out, err := i.Input(bob, packet)
		switch {
		case bytes.Equal(packet, genuine) && i.sends < 2:
			i.state = initAsking
			_ = i.again()
		case out == Connected:
			t.Fatal("connected")
		case out == Ignored && err == nil:
			t.Fatal("ignored without a reason")
		case out == Failed: // a REFUSED with our nonce
			i.state = initAsking
		}
	})
}

// FuzzOpen: whatever comes, nothing but the genuine packet is opened.
func FuzzOpen(f *testing.F) {
	a, b := joined(f, testKey(f, "a"))
	genuine := seal(f, a.Session, a.ID, "a message")
	f.Add(genuine)
	f.Fuzz(func(t *testing.T, packet []byte) {
		if bytes.Equal(packet, genuine) {
			return
		}
		if payload, err := b.Session.Open(packet); err == nil {
			t.Fatalf("opened %x", payload)
		}
	})
}
