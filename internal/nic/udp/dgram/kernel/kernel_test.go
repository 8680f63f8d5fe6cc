//go:build linux

package kernel

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	loopback4 = netip.MustParseAddrPort("127.0.0.1:0")
	loopback6 = netip.MustParseAddrPort("[::1]:0")
)

func open(t testing.TB, o Options) *Device {
	d, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func bound(t testing.TB, d *Device, at netip.AddrPort) *socket {
	s, err := d.Open(at)
	require.NoError(t, err)
	return s.(*socket)
}

// two is a pair of sockets of one device.
func two(t testing.TB, o Options) (a, b *socket) {
	d := open(t, o)
	return bound(t, d, loopback4), bound(t, d, loopback4)
}

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "took too long: %s", what)
	}
}

// packet is one of a size, with a number in each of its bytes.
func packet(to netip.AddrPort, size int, number byte) dgram.Packet {
	b := make([]byte, size)
	for i := range b {
		b[i] = number
	}
	return dgram.Packet{To: to, Pieces: [][]byte{b}}
}

// run is packets of one size, numbered from 0.
func run(to netip.AddrPort, count, size int) []dgram.Packet {
	batch := make([]dgram.Packet, count)
	for i := range batch {
		batch[i] = packet(to, size, byte(i))
	}
	return batch
}

// room is room for arrivals of any size.
func room(count int) []dgram.Arrival {
	batch := make([]dgram.Arrival, count)
	for i := range batch {
		batch[i].Buf = make([]byte, dgram.RoomMax)
	}
	return batch
}

// got is a datagram that arrived.
type got struct {
	from   netip.AddrPort
	number byte
	size   int
}

// split splits arrivals into single datagrams, and checks that each has the bytes
// of one packet.
func split(t testing.TB, batch []dgram.Arrival) (all []got) {
	t.Helper()
	for _, a := range batch {
		require.Positive(t, a.Size)
		require.LessOrEqual(t, a.Size, a.Len)
		require.LessOrEqual(t, a.Len, len(a.Buf))
		for b := a.Buf[:a.Len]; len(b) > 0; b = b[min(a.Size, len(b)):] {
			one := b[:min(a.Size, len(b))]
			for i := range one {
				if one[i] != one[0] {
					require.Fail(t, "bytes of two packets in one")
				}
			}
			all = append(all, got{a.From, one[0], len(one)})
		}
	}
	return all
}

// receive waits for so many datagrams.
func receive(t testing.TB, s dgram.Socket, count int) (all []got) {
	t.Helper()
	batch := room(4)
	eventually(t, fmt.Sprintf("%d datagrams", count), func() bool {
		all = append(all, split(t, batch[:s.Recv(batch)])...)
		return len(all) >= count
	})
	require.Len(t, all, count)
	return all
}

// send sends all of a batch.
func send(t testing.TB, s dgram.Socket, batch ...dgram.Packet) {
	t.Helper()
	n, err := s.Send(batch)
	require.NoError(t, err)
	require.Equal(t, len(batch), n)
}
