package relay

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var local = netip.MustParseAddrPort("127.0.0.1:0")

// within is the limit for what must happen.
const within = wallclock.Patience

type end struct {
	*testing.T
	*net.UDPConn
	buf []byte
}

func newEnd(t *testing.T) *end {
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(local))
	require.NoError(t, err)
	require.NoError(t, c.SetReadBuffer(4<<20))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return &end{t, c, make([]byte, datagramMax)}
}

func (e *end) at() netip.AddrPort { return e.LocalAddr().(*net.UDPAddr).AddrPort() }

func (e *end) send(to netip.AddrPort, p []byte) {
	_, err := e.WriteToUDPAddrPort(p, to)
	require.NoError(e, err)
}

// next waits for one datagram; ok is false if none comes within a time.
func (e *end) next(wait time.Duration) (p []byte, from netip.AddrPort, ok bool) {
	require.NoError(e, e.SetReadDeadline(time.Now().Add(wait)))
	n, from, err := e.ReadFromUDPAddrPort(e.buf)
	return e.buf[:n], from, err == nil
}

func start(t *testing.T, server *end, opts Options) *Relay {
	opts.Ports = append(opts.Ports, Port{Listen: local, Server: server.at()})
	r, err := Start(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// numbers sends count numbered datagrams through a way, as fast as they are accepted,
// and returns the numbers that arrive, -1 for those that are wrong.
func numbers(t *testing.T, way Way, count int) (got []int, c Counters) {
	client, server := newEnd(t), newEnd(t)
	r := start(t, server, Options{Seed: 7, There: way})
	take := func(wait time.Duration) bool {
		p, _, ok := server.next(wait)
		if !ok {
			return false
		}
		x := binary.LittleEndian.Uint64(p)
		if number, same := uint32(x), uint32(x>>32); number == ^same {
			got = append(got, int(number))
		} else {
			got = append(got, -1)
		}
		return true
	}
	for i := range uint32(count) {
		client.send(r.Addr(0), binary.LittleEndian.AppendUint64(make([]byte, 0, 100), uint64(i)|uint64(^i)<<32))
		if i%64 == 63 { // not more than sockets hold
			require.Eventually(t, func() bool { c, _ = r.Counters(); return c.Received == uint64(i+1) }, within, 10*time.Microsecond)
		}
	}
	require.Eventually(t, func() bool {
		c, _ = r.Counters()
		return c.Received == uint64(count) && c.Sent == c.Received-c.Lost-c.Dropped+c.Duplicated
	}, within, time.Millisecond)
	for uint64(len(got)) < c.Sent {
		require.True(t, take(within))
	}
	assert.Zero(t, c.Refused)
	return got, c
}

func TestWays(t *testing.T) {
	const count = 1280
	got, c := numbers(t, Way{}, count)
	assert.Equal(t, Counters{Received: count, Sent: count}, c)
	for i, x := range got {
		require.Equal(t, i, x, "in order")
	}
	got, c = numbers(t, Way{Loss: 0.3}, count)
	assert.InDelta(t, 0.7*count, len(got), 0.06*count)
	again, _ := numbers(t, Way{Loss: 0.3}, count)
	assert.Equal(t, got, again, "a seed loses the same")
	assert.EqualValues(t, count-len(got), c.Lost)

	got, c = numbers(t, Way{Duplicate: 0.3}, count)
	assert.InDelta(t, 1.3*count, len(got), 0.06*count)
	assert.EqualValues(t, len(got)-count, c.Duplicated)

	got, c = numbers(t, Way{Corrupt: 0.3}, count)
	wrong := 0
	for _, x := range got {
		if x < 0 {
			wrong++
		}
	}
	assert.InDelta(t, 0.3*count, wrong, 0.06*count)
	assert.EqualValues(t, wrong, c.Corrupted)

	got, c = numbers(t, Way{Reorder: 0.3, ReorderMax: 5 * time.Millisecond}, count)
	late := 0
	for i, x := range got {
		if i > 0 && x < got[i-1] {
			late++
		}
	}
	assert.Len(t, got, count)
	assert.Positive(t, late)
	assert.InDelta(t, 0.3*count, c.Reordered, 0.06*count)

	got, _ = numbers(t, Way{Jitter: 5 * time.Millisecond}, count)
	for i, x := range got {
		require.Equal(t, i, x, "jitter keeps the order")
	}
}

func TestDelay(t *testing.T) {
	client, server := newEnd(t), newEnd(t)
	r := start(t, server, Options{There: Way{Delay: 20 * time.Millisecond}, Back: Way{Delay: 30 * time.Millisecond}})
	began := time.Now()
	client.send(r.Addr(0), []byte("ping"))
	p, from, ok := server.next(within)
	require.True(t, ok)
	assert.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
	server.send(from, p)
	p, from, ok = client.next(within)
	require.True(t, ok)
	assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
	assert.Equal(t, "ping", string(p))
	assert.Equal(t, r.Addr(0), from)
}

func TestRate(t *testing.T) {
	client, server := newEnd(t), newEnd(t)
	r := start(t, server, Options{There: Way{BytesPerSecond: 1 << 20, QueueBytes: 100 << 10}})
	began := time.Now()
	for range 300 { // three times what the queue holds, in less than its time
		client.send(r.Addr(0), make([]byte, 1024))
	}
	var c Counters
	require.Eventually(t, func() bool {
		c, _ = r.Counters()
		return c.Received > 100 && c.Sent+c.Dropped == c.Received
	}, within, time.Millisecond)
	took := time.Since(began)
	assert.GreaterOrEqual(t, took, time.Duration(c.Sent)*time.Second/1024*9/10)
	assert.GreaterOrEqual(t, c.Sent, uint64(100))
	assert.Positive(t, c.Dropped)
}

func TestCutAndSetWays(t *testing.T) {
	client, server := newEnd(t), newEnd(t)
	r := start(t, server, Options{})
	passes := func(from, to *end, at netip.AddrPort) bool {
		from.send(at, []byte("hello"))
		_, _, ok := to.next(100 * time.Millisecond)
		return ok
	}
	client.send(r.Addr(0), []byte("hello"))
	_, back, ok := server.next(within)
	require.True(t, ok)
	r.Cut(true, false)
	assert.False(t, passes(client, server, r.Addr(0)))
	assert.True(t, passes(server, client, back))
	r.Cut(false, true)
	assert.True(t, passes(client, server, r.Addr(0)))
	assert.False(t, passes(server, client, back))
	r.Cut(false, false)
	assert.True(t, passes(server, client, back))
	r.SetWays(Way{}, Way{Loss: 1})
	assert.False(t, passes(server, client, back))
	assert.True(t, passes(client, server, r.Addr(0)))
	_, c := r.Counters()
	assert.EqualValues(t, 2, c.Lost)
}

// TestManyClients: each has a socket of its own towards the server, and strangers
// cannot send through it.
func TestManyClients(t *testing.T) {
	server := newEnd(t)
	r := start(t, server, Options{ClientsMax: 5, Ports: []Port{{Listen: local, Server: server.at(), From: local.Addr()}}})
	seen := map[netip.AddrPort]bool{}
	for i := range byte(6) {
		client := newEnd(t)
		client.send(r.Addr(0), []byte{i})
		if i == 5 {
			require.Eventually(t, func() bool { c, _ := r.Counters(); return c.Refused == 1 }, within, time.Millisecond, "one too many")
			break
		}
		_, from, ok := server.next(within)
		require.True(t, ok)
		assert.False(t, seen[from])
		seen[from] = true
		newEnd(t).send(from, []byte("stranger"))
		server.send(from, []byte{i + 100})
		p, _, ok := client.next(within)
		require.True(t, ok)
		assert.Equal(t, []byte{i + 100}, p)
	}
	_, c := r.Counters()
	assert.EqualValues(t, 5, c.Refused)
}

func TestClose(t *testing.T) {
	client, server := newEnd(t), newEnd(t)
	r := start(t, server, Options{There: Way{Delay: time.Hour}})
	client.send(r.Addr(0), []byte("never"))
	require.Eventually(t, func() bool { c, _ := r.Counters(); return c.Received == 1 }, within, time.Millisecond)
	at := r.Addr(0)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	require.NoError(t, err, "the address is free")
	require.NoError(t, c.Close())

	_, err = Start(Options{})
	require.Error(t, err)
	_, err = Start(Options{Ports: []Port{{Listen: local}, {Listen: server.at()}}})
	require.Error(t, err, "in use")
}
