package secure

import (
	"bytes"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// secured are the kinds of keys that a stranger lacks.
func secured(t testing.TB) []keys {
	return []keys{shared(t), {static: true}, {testKey(t, "a"), true}}
}

// FuzzRespond: from a packet of a stranger, a guard with keys never makes a request, and its answer is
// never larger than the packet.
func FuzzRespond(f *testing.F) {
	var listeners []*Guard
	var genuine [][]byte
	for _, k := range secured(f) {
		dialler, listener := pair(f, k)
		i := dial(f, dialler)
		f.Add(bytes.Clone(i.Packet()))
		cookied(f, i, listener, 0)
		listeners, genuine = append(listeners, listener), append(genuine, bytes.Clone(i.Packet()))
		f.Add(genuine[len(genuine)-1])
	}
	f.Add((&wire.Init{Version: 9, From: 1}).Append(nil))
	f.Fuzz(func(t *testing.T, packet []byte) {
		for n, listener := range listeners {
			if bytes.Equal(packet, genuine[n]) {
				continue
			}
			answer, r, err := listener.Respond(0, alice, packet, nil)
			if r != nil || err == nil || len(answer) > len(packet) {
				t.Fatalf("%v: %v, answer of %d bytes to %d: %v", listener.Mode(), r, len(answer), len(packet), err)
			}
			if reset := listener.Reset(0, alice, packet, nil); len(reset) > len(packet) {
				t.Fatal("larger RESET")
			}
		}
	})
}

// FuzzInitiator: no packet but the genuine answer makes a connection of an attempt that has a cookie.
func FuzzInitiator(f *testing.F) {
	kinds := secured(f)
	begin := func(t testing.TB, k keys) (i *Initiator, answer []byte) {
		dialler, listener := pair(t, k)
		i = dial(t, dialler)
		answer, _, err := requested(t, i, listener).Accept(7, 8)
		require.NoError(t, err)
		return i, answer
	}
	var attempts []*Initiator
	var genuine [][]byte
	for _, k := range kinds {
		i, answer := begin(f, k)
		f.Add(answer)
		f.Add((&wire.Retry{To: i.ID(), Nonce: i.clear.Nonce, Cookie: wire.Cookie{1}}).Append(nil))
		f.Add((&wire.Refused{To: i.ID(), Nonce: i.clear.Nonce, Code: wire.CodeUnknown}).Append(nil))
		attempts, genuine = append(attempts, i), append(genuine, answer)
	}
	f.Add((&wire.Refused{To: attempts[0].ID(), Code: wire.CodeKey}).Append(nil))
	f.Fuzz(func(t *testing.T, packet []byte) {
		for n, i := range attempts {
			if bytes.Equal(packet, genuine[n]) {
				continue
			}
			switch out, err := i.Input(bob, packet); {
			case out == Connected:
				t.Fatal("connected")
			case out == Ignored && err == nil:
				t.Fatal("ignored without a reason")
			case out != Ignored: // a RETRY or REFUSED with our nonce
				attempts[n], _ = begin(t, kinds[n])
			}
		}
	})
}

// FuzzOpen: of all packets only the genuine one is opened.
func FuzzOpen(f *testing.F) {
	a, b := joined(f, shared(f))
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

// FuzzPublicKeys: lists of public keys come from files. None causes a panic, and an accepted name is one
// that may stand in logs and addresses.
func FuzzPublicKeys(f *testing.F) {
	key := publicOf(f, "listener").String()
	for _, seed := range []string{"alice " + key, "# none\n\n  bob@host\t" + key + " # his\r\n", "node7:7000 " + key, "[2001:db8::*]:7* " + key, "* " + key, "x y z"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := ParseClients(text); err == nil {
			for key, name := range c.names {
				if CheckName(name) != nil || key == (PublicKey{}) {
					t.Fatalf("%q has the key %v", name, key)
				}
			}
		}
		if s, err := ParseServers(text); err == nil {
			for _, p := range s.patterns {
				if _, err := path.Match(p.match, "node7:7000"); err != nil {
					t.Fatalf("%q: %v", p.text, err)
				}
			}
			s.Key("node7:7000")
		}
	})
}
