package secure

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

func TestHandshake(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		dialler := newGuard(t, 1, k.of(t, "dialler", Config{Listening: true, Name: "dialler"}))
		listener := newGuard(t, 2, k.of(t, "listener", Config{Listening: true, Name: "listener"}))
		i := dial(t, dialler)
		r := requested(t, i, listener)
		assert.Equal(t, alice, r.From)
		assert.EqualValues(t, 0xd1a1, r.ID)
		assert.EqualValues(t, 4001, r.Port)
		assert.Equal(t, "private data", string(r.Private))
		assert.Equal(t, "dialler", r.Name)
		packet, b, err := r.Accept(0xacce, 4003)
		require.NoError(t, err)
		out, err := i.Input(bob, packet)
		require.NoError(t, err)
		require.Equal(t, Connected, out)
		a := i.Peer()
		assert.EqualValues(t, 0xacce, a.ID)
		assert.EqualValues(t, 4003, a.Port)
		assert.Equal(t, listener.Token(0xacce, alice.Addr()), a.Token)
		assert.EqualValues(t, 0xd1a1, b.ID)
		assert.EqualValues(t, 4001, b.Port)
		assert.Equal(t, dialler.Token(0xd1a1, bob.Addr()), b.Token)
		assert.Equal(t, a.Cipher, b.Cipher)
		for _, body := range []string{"", "x", strings.Repeat("long ", 1000)} {
			got, err := b.Session.Open(seal(t, a.Session, a.ID, body))
			require.NoError(t, err)
			assert.Equal(t, body, string(got))
			got, err = a.Session.Open(seal(t, b.Session, b.ID, body))
			require.NoError(t, err)
			assert.Equal(t, body, string(got))
		}
		out, err = i.Input(bob, packet)
		assert.NoError(t, err)
		assert.Equal(t, Repeated, out)
		for n := range packet {
			out, err = i.Input(bob, packet[:n])
			assert.Equal(t, Ignored, out, "whatever is shorter")
			assert.Error(t, err)
		}
		packet[len(packet)-1]++
		out, err = i.Input(bob, packet)
		assert.Equal(t, Ignored, out)
		assert.ErrorIs(t, err, ErrUnexpected, "another answer")
	})
}

// Keys change while a connection lives, so that an attacker who reads our memory cannot decrypt
// older packets. For that, the secrets from which the keys were derived must be gone.
func TestHandshakesAreForgotten(t *testing.T) {
	dialler, listener := pair(t, shared(t))
	i := dial(t, dialler)
	r := requested(t, i, listener)
	sides := []shaker{i.shaker, r.shaker}
	packet, _, err := r.Accept(0xacce, 4003)
	require.NoError(t, err)
	out, err := i.Input(bob, packet)
	require.NoError(t, err)
	require.Equal(t, Connected, out)
	assert.Nil(t, i.shaker)
	for _, side := range sides {
		n, ok := side.(*noiseShaker)
		require.True(t, ok)
		assert.Nil(t, n.state)
		assert.Zero(t, n.ephemeral)
		assert.Equal(t, make([]byte, keyBytes), n.psk)
	}
}

func TestDiallersWithoutAListenerHaveNoName(t *testing.T) {
	dialler := newGuard(t, 1, Config{Name: "nowhere"})
	_, listener := pair(t, keys{})
	assert.Empty(t, requested(t, dial(t, dialler), listener).Name)
}

// The cipher is AES where both sides have it fast, and both sides choose the same.
func TestChoiceOfCipher(t *testing.T) {
	const both = wire.CipherChaCha | wire.CipherAES
	for _, c := range []struct{ dialler, listener, want wire.Ciphers }{
		{both, both, wire.CipherAES},
		{both, wire.CipherChaCha, wire.CipherChaCha},
		{wire.CipherChaCha, both, wire.CipherChaCha},
		{wire.CipherChaCha, wire.CipherChaCha, wire.CipherChaCha},
	} {
		key := testKey(t, "a")
		i := dial(t, newGuard(t, 1, Config{Key: key, Ciphers: c.dialler}))
		packet, b, err := requested(t, i, newGuard(t, 2, Config{Key: key, Ciphers: c.listener, Listening: true})).Accept(7, 8)
		require.NoError(t, err)
		_, err = i.Input(bob, packet)
		require.NoError(t, err)
		assert.Equal(t, c.want, b.Cipher)
		assert.Equal(t, c.want, i.Peer().Cipher)
		got, err := b.Session.Open(seal(t, i.Peer().Session, 7, "hello"))
		require.NoError(t, err)
		assert.Equal(t, "hello", string(got))
	}
}

func TestReject(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		dialler, listener := pair(t, k)
		i := dial(t, dialler)
		r := requested(t, i, listener)
		_, err := r.Reject(make([]byte, wire.ReasonMax+1))
		require.ErrorIs(t, err, ErrPrivate)
		packet, err := r.Reject([]byte("not today"))
		require.NoError(t, err)
		out, err := i.Input(bob, packet)
		assert.Equal(t, Failed, out)
		var rejected *RejectedError
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, "not today", string(rejected.Reason))
		assert.Contains(t, err.Error(), "not today")
		_, _, err = r.Accept(1, 1)
		assert.ErrorIs(t, err, ErrSettled)
		_, err = r.Refuse(wire.CodeBusy)
		assert.ErrorIs(t, err, ErrSettled)
	})
}

// refusal returns what both sides report of an attempt between two guards.
func refusal(t *testing.T, dialler, listener *Guard) (here, there error) {
	t.Helper()
	i := dial(t, dialler)
	for range 2 + RefusalsMin {
		packet := i.Packet()
		answer, r, err := listener.Respond(0, alice, packet, nil)
		require.Nil(t, r)
		require.Error(t, err)
		require.NotEmpty(t, answer)
		require.LessOrEqual(t, len(answer), len(packet))
		out, theirs := i.Input(bob, answer)
		if out == Failed {
			return theirs, err
		}
		require.Equal(t, Again, out)
	}
	require.Fail(t, "no refusal")
	return nil, nil
}

func TestRefusalsAreClearOnBothSides(t *testing.T) {
	a, b := testKey(t, "a"), testKey(t, "b")
	for name, c := range map[string]struct {
		dialler, listener Config
		code              wire.Code
		here, there       string
	}{
		"wrong key":    {Config{Key: a}, Config{Key: b, Listening: true}, wire.CodeKey, "its shared key is a different one", "has a different shared key"},
		"no key there": {Config{Key: a}, Config{Listening: true}, wire.CodeUses(wire.ModeInsecure), "the other one is insecure", "this side is insecure"},
		"no key here":  {Config{}, Config{Key: a, Listening: true}, wire.CodeUses(wire.ModeNoise), "this side is insecure", "the other one is insecure"},
		"nobody":       {Config{Key: a}, Config{Key: a}, wire.CodeNobody, "nobody listens", "nobody listens"},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := refusal(t, newGuard(t, 1, c.dialler), newGuard(t, 2, c.listener))
			for _, err := range []error{here, there} {
				var refused *RefusedError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, c.code, refused.Code)
				assert.Equal(t, c.code == wire.CodeKey, errors.Is(err, ErrKey))
			}
			assert.Contains(t, here.Error(), c.here)
			assert.Contains(t, there.Error(), c.there)
		})
	}
}

func TestAnotherVersion(t *testing.T) {
	dialler, listener := pair(t, keys{})
	i := dial(t, dialler)
	packet := bytes.Clone(i.Packet())
	for _, other := range []byte{wire.Version - 1, wire.Version + 1} {
		packet[2] = other
		for _, packet := range [][]byte{packet, packet[:wire.InitFixed]} {
			answer, r, err := listener.Respond(0, alice, packet, nil)
			require.Nil(t, r)
			require.ErrorContains(t, err, fmt.Sprintf("speaks version %d", other))
			require.LessOrEqual(t, len(answer), len(packet))
			i := dial(t, newGuard(t, 1, Config{}))
			assert.ErrorContains(t, refused(t, i, answer), "run the same release")
		}
	}
}

// TestARefusalMayBeAMistake: a damaged INIT is refused, and the undamaged one is still accepted
// afterwards.
func TestARefusalMayBeAMistake(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		dialler, listener := pair(t, k)
		i := dial(t, dialler)
		cookied(t, i, listener, 0)
		for range RefusalsMin - 1 {
			damaged := bytes.Clone(i.Packet())
			damaged[2] ^= 1 // the version
			answer, _, err := listener.Respond(0, alice, damaged, nil)
			require.Error(t, err)
			out, err := i.Input(bob, answer)
			require.NoError(t, err)
			require.Equal(t, Again, out)
		}
		_, r, err := listener.Respond(0, alice, i.Packet(), nil)
		require.NoError(t, err)
		packet, _, err := r.Accept(1, 1)
		require.NoError(t, err)
		out, err := i.Input(bob, packet)
		require.NoError(t, err)
		assert.Equal(t, Connected, out)
	})
}

func TestBusy(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		dialler, listener := pair(t, k)
		i := dial(t, dialler)
		r := requested(t, i, listener)
		packet, err := r.Refuse(wire.CodeBusy)
		require.NoError(t, err)
		again, r, err := listener.Respond(0, alice, i.Packet(), nil)
		require.NoError(t, err)
		assert.Empty(t, again)
		assert.NotNil(t, r, "what was refused may be asked again")
		assert.ErrorContains(t, refused(t, i, packet), "no room")
	})
}

func TestErrorsOfTheCaller(t *testing.T) {
	_, err := NewGuard(Config{Name: strings.Repeat("n", wire.NameMax+1)})
	assert.ErrorIs(t, err, ErrPrivate)
	g := newGuard(t, 1, Config{})
	_, err = g.Initiate("node7:7000", 1, 1, make([]byte, wire.PrivateMax+1))
	assert.ErrorIs(t, err, ErrPrivate)
	assert.Panics(t, func() { _, _ = g.Initiate("node7:7000", 0, 1, nil) })
	_, err = NewGuard(Config{Random: strings.NewReader("")})
	assert.Error(t, err, "no randomness")
}

// The same seeds make the same bytes, so that simulation can be repeated.
func TestHandshakeIsRepeatable(t *testing.T) {
	run := func() (all []byte) {
		dialler, listener := pair(t, shared(t))
		i := dial(t, dialler)
		packet, b, err := requested(t, i, listener).Accept(1, 2)
		require.NoError(t, err)
		all = append(append(all, i.Packet()...), packet...)
		return append(all, seal(t, b.Session, b.ID, "hello")...)
	}
	assert.Equal(t, run(), run())
}

// What is sealed cannot be read in the packets.
func TestNothingPrivateIsReadable(t *testing.T) {
	dialler, listener := pair(t, shared(t))
	i := dial(t, dialler)
	r := requested(t, i, listener)
	assert.NotContains(t, string(i.Packet()), "private data")
	packet, err := r.Reject([]byte("the reason"))
	require.NoError(t, err)
	assert.NotContains(t, string(packet), "the reason")
}
