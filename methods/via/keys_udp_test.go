package via_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

const keyEnv, insecureEnv = "VIADUCT_UDP_KEY", "VIADUCT_UDP_INSECURE"

// openKeyed opens an endpoint that listens, with one variable of the environment set.
func openKeyed(t *testing.T, env string) (*bmi.Endpoint, *logtext.Buffer) {
	t.Helper()
	key, value := cutEnv(env)
	t.Setenv(keyEnv, "")
	t.Setenv(insecureEnv, "")
	t.Setenv(key, value)
	log := &logtext.Buffer{}
	ep, err := bmi.Open(t.Context(), bmi.Config{
		Listen: []string{"via+udp://127.0.0.1:0"}, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ep.Close()) })
	return ep, log
}

// refusedBy sends to an endpoint that refuses the connection, and returns the error, which
// must not take long. All other operations with that peer must have ended, too.
func refusedBy(t *testing.T, from *bmi.Endpoint, to string) error {
	t.Helper()
	addr, err := from.Lookup(to)
	require.NoError(t, err)
	c, err := from.OpenContext()
	require.NoError(t, err)
	r, err := c.PostRecv(addr, 1, make([]byte, 8), nil)
	require.NoError(t, err)
	require.False(t, r.Done)
	ctx, cancel := context.WithTimeout(t.Context(), wallclock.Patience)
	defer cancel()
	start := time.Now()
	refused := c.SendUnexpected(ctx, addr, 0, 1, []byte("hello"))
	require.Error(t, refused)
	var out [4]bmi.Completion
	n, err := c.TestContext(out[:], wallclock.Patience)
	require.NoError(t, err)
	require.Equal(t, 1, n, "the receive")
	require.Equal(t, refused.Error(), out[0].Err.Error())
	wallclock.Under(t, time.Since(start), 3*time.Second, "the refusal, which waiting would not make right,")
	return refused
}

// TestUDPKeysThatDoNotFit: both sides say what is wrong and what to do about it, at
// once, and go on.
func TestUDPKeysThatDoNotFit(t *testing.T) {
	const right, wrong, none = keyEnv + "=correct horse battery staple", keyEnv + "=wrong horse battery staple", insecureEnv + "=1"
	for name, c := range map[string]struct {
		listens, asks  string // variables of the environment
		listener, told string // the errors of the two sides
	}{
		"another key": {right, wrong, "the other side has a different shared key, so it was refused: give both sides the same (see VIADUCT_UDP_KEY_FILE)",
			"the other side refused us: its shared key is a different one: give both sides the same (see VIADUCT_UDP_KEY_FILE)"},
		"no key there": {none, right, "this side is insecure and the other one has a shared key: give this side the key (see VIADUCT_UDP_KEY_FILE)",
			"this side has a shared key and the other one is insecure: give that side the key (see VIADUCT_UDP_KEY_FILE)"},
		"no key here": {right, none, "this side has a shared key and the other one is insecure: give that side the key (see VIADUCT_UDP_KEY_FILE)",
			"this side is insecure and the other one has a shared key: give this side the key (see VIADUCT_UDP_KEY_FILE)"},
	} {
		t.Run(name, func(t *testing.T) {
			listener, log := openKeyed(t, c.listens)
			stranger, _ := openKeyed(t, c.asks)
			err := refusedBy(t, stranger, listener.Addresses()[0])
			require.ErrorIs(t, err, bmi.ErrRefused)
			require.ErrorContains(t, err, c.told)
			require.Contains(t, log.String(), c.listener)
			require.NotZero(t, refusals(listener))
			refusedBy(t, stranger, listener.Addresses()[0])
			require.LessOrEqual(t, strings.Count(log.String(), "WARN"), 2, "strangers cannot fill the log")

			friend, _ := openKeyed(t, c.listens)
			call(t, friend, listener, listener.Addresses()[0])
		})
	}
}

func refusals(e *bmi.Endpoint) uint64 { return e.Stats().Methods[0].Packets.Refused }

// TestUDPOtherVersions: so it is with a side of another release.
func TestUDPOtherVersions(t *testing.T) {
	const other = wire.Version + 6
	told := fmt.Sprintf("the other side speaks version %d of the packet format, this side %d: run the same release on both", other, wire.Version)
	ep, log := openKeyed(t, insecureEnv+"=1")
	sock, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, sock.Close()) }()
	require.NoError(t, sock.SetDeadline(time.Now().Add(wallclock.Patience)))

	// It is asked by one.
	init := wire.Init{Mode: wire.ModeInsecure, Version: other, From: 1, Nonce: 2}
	at, err := net.ResolveUDPAddr("udp", strings.TrimPrefix(ep.Addresses()[0], "via+udp://"))
	require.NoError(t, err)
	_, err = sock.WriteTo(append(init.Append(nil), make([]byte, wire.InitSealed)...), at)
	require.NoError(t, err)
	var b [2048]byte
	n, _, err := sock.ReadFrom(b[:])
	require.NoError(t, err)
	answer, err := wire.ParseRefused(b[:n])
	require.NoError(t, err)
	require.Equal(t, wire.Refused{Code: wire.CodeVersion, Version: wire.Version, To: 1, Nonce: 2}, answer)
	require.Eventually(t, func() bool {
		return refusals(ep) == 1 && strings.Contains(log.String(), told)
	}, wallclock.Patience, time.Millisecond)

	// It asks one.
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			n, from, err := sock.ReadFrom(b[:])
			if err != nil {
				return
			}
			asked, err := wire.ParseInit(b[:n])
			if err != nil {
				continue
			}
			refused := wire.Refused{Code: wire.CodeVersion, Version: other, To: asked.From, Nonce: asked.Nonce}
			_, _ = sock.WriteTo(refused.Append(nil), from)
		}
	}()
	err = refusedBy(t, ep, "via+udp://"+sock.LocalAddr().String())
	require.ErrorIs(t, err, bmi.ErrVersion)
	require.ErrorContains(t, err, told)
	require.NoError(t, sock.SetDeadline(time.Now()))
	<-served
}
