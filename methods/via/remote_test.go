package via_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/nic/shm"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via"
)

// A knownPeer is an endpoint that has sent a message to the one under test.
type knownPeer struct {
	ep   *bmi.Endpoint
	ctx  *bmi.Context
	to   bmi.Addr // the endpoint under test
	back bmi.Addr // this one, as that knows it
}

func meetSHM(t *testing.T, server *bmi.Endpoint, name string) (p knownPeer) {
	t.Helper()
	p.ep, p.ctx = openSHM(t, name, via.Options{})
	var err error
	p.to, err = p.ep.Lookup("via+shm://server")
	require.NoError(t, err)
	require.Error(t, p.ep.RemoteWrite(p.to, bmi.RemoteKey{}, 0, []byte{1}), "there is no connection")
	p.greet(t, server)
	return p
}

// greet sends a message.
func (p *knownPeer) greet(t *testing.T, server *bmi.Endpoint) {
	t.Helper()
	require.NoError(t, p.ctx.SendUnexpected(bounded(t), p.to, 0, 1, []byte("hello")))
	var got [1]bmi.Unexpected
	n, err := server.TestUnexpected(got[:], wallclock.Patience)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	p.back = got[0].From
	got[0].Release()
}

// TestRemoteAccess: a peer reads and writes what is exposed to it, and nothing else; no other peer does.
func TestRemoteAccess(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	server, _ := openSHM(t, "server", via.Options{})
	peer, other := meetSHM(t, server, "peer"), meetSHM(t, server, "other")
	require.True(t, peer.ep.RemoteAccess(peer.to))
	const n = 600_000 // several descriptors
	all := bytes.Repeat([]byte{0xaa}, n+200)
	mem := all[100 : 100+n : 100+n]
	x, err := server.Expose(peer.back, mem)
	require.NoError(t, err)
	key := x.Key()

	data := pattern(n)
	require.NoError(t, peer.ep.RemoteWrite(peer.to, key, 0, data))
	require.True(t, bytes.Equal(data, mem))
	got := make([]byte, n-1)
	require.NoError(t, peer.ep.RemoteRead(peer.to, key, 1, got))
	require.True(t, bytes.Equal(data[1:], got))
	require.NoError(t, peer.ep.RemoteWrite(peer.to, key, n-1, []byte{7}))
	require.Equal(t, byte(7), mem[n-1])
	require.NoError(t, peer.ep.RemoteWrite(peer.to, key, n, nil), "nothing is moved")

	whole := bytes.Clone(all)
	refused := func(p knownPeer, key bmi.RemoteKey, off uint64, size int, why string) {
		t.Helper()
		require.Error(t, p.ep.RemoteWrite(p.to, key, off, make([]byte, size)), why)
		b := bytes.Repeat([]byte{1}, size)
		require.Error(t, p.ep.RemoteRead(p.to, key, off, b), why)
		require.Equal(t, bytes.Repeat([]byte{1}, size), b, why)
		require.True(t, bytes.Equal(whole, all), why)
	}
	for _, off := range []uint64{n, n + 1, math.MaxUint64, math.MaxUint64 - 7, 1 << 63} {
		refused(peer, key, off, 1, "outside")
	}
	refused(peer, key, n-1, 2, "across the end")
	refused(other, key, 0, 1, "exposed to another peer")
	refused(peer, bmi.RemoteKey{}, 0, 1, "no key")
	for i := range key {
		for bit := range 8 {
			forged := key
			forged[i] ^= 1 << bit
			if i < 8 && i > 2 || i >= 8 {
				refused(peer, forged, 0, 1, "a forged key")
			}
		}
	}

	x.Withdraw()
	refused(peer, key, 0, 1, "withdrawn")
	x.Withdraw() // does nothing
	require.Equal(t, bmi.RemoteKey{}, x.Key())
	x, err = server.Expose(peer.back, mem)
	require.NoError(t, err)
	require.NotEqual(t, key, x.Key())
	refused(peer, key, 0, 1, "the key of an earlier exposure")
	peer.greet(t, server) // the connections have survived all that
	other.greet(t, server)
	require.Zero(t, server.Stats().Methods[0].Errors.Protocol)

	require.NoError(t, peer.ep.DropAddr(peer.to))
	refused(peer, x.Key(), 0, 1, "the connection has ended")
	x.Withdraw()
	_, err = server.Expose(other.back, nil)
	require.ErrorIs(t, err, bmi.ErrInvalid)
}

// TestExposuresAreLimited: more memory than that is not exposed, and withdrawn memory makes room.
func TestExposuresAreLimited(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	server, _ := openSHM(t, "server", via.Options{})
	peer := meetSHM(t, server, "peer")
	var all []*bmi.ExposedMemory
	var err error
	for err == nil {
		var x *bmi.ExposedMemory
		if x, err = server.Expose(peer.back, make([]byte, 8)); err == nil {
			all = append(all, x)
		}
	}
	require.ErrorIs(t, err, bmi.ErrAgain)
	require.Len(t, all, 4096)
	all[0].Withdraw()
	_, err = server.Expose(peer.back, make([]byte, 8))
	require.NoError(t, err)
}

// TestNoRemoteAccessWithoutRDMA: where the kernel forbids it, nothing is exposed.
func TestNoRemoteAccessWithoutRDMA(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	t.Setenv(shm.NoCMAEnv, "1")
	server, _ := openSHM(t, "server", via.Options{})
	peer := meetSHM(t, server, "peer")
	_, err := server.Expose(peer.back, make([]byte, 8))
	require.ErrorIs(t, err, bmi.ErrNotSupported)
}
