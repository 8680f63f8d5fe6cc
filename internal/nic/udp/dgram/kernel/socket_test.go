//go:build linux

package kernel

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

func TestOnePacketEachWay(t *testing.T) {
	a, b := two(t, Options{})
	send(t, a, packet(b.Addr(), 64, 7))
	require.Equal(t, []got{{a.Addr(), 7, 64}}, receive(t, b, 1))
	send(t, b, packet(a.Addr(), 1, 8))
	require.Equal(t, []got{{b.Addr(), 8, 1}}, receive(t, a, 1))
}

func TestPiecesArePutTogether(t *testing.T) {
	for _, size := range []int{1, smallMax / 3, 5000} { // copied, and listed
		a, b := two(t, Options{})
		want := 3 * size
		pieces := [][]byte{make([]byte, size), nil, make([]byte, size), {}, make([]byte, size)}
		one := dgram.Packet{To: b.Addr(), Pieces: pieces}
		send(t, a, one, one, one)
		send(t, a, one)
		for _, g := range receive(t, b, 4) {
			require.Equal(t, want, g.size)
		}
	}
}

// Groups, single packets and shorter ones at the end, to many destinations, arrive
// whole and, from one socket at another, in order.
func TestRuns(t *testing.T) {
	for name, o := range map[string]Options{
		"groups": {}, "sent alone": {NoGSO: true}, "received alone": {NoGRO: true}, "alone": {NoGSO: true, NoGRO: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, o)
			from, x, y := bound(t, d, loopback4), bound(t, d, loopback4), bound(t, d, loopback4)
			joined(x)
			joined(y)
			var batch []dgram.Packet
			batch = append(batch, run(x.Addr(), 150, 1400)...)
			batch = append(batch, packet(x.Addr(), 1000, 150))
			batch = append(batch, packet(x.Addr(), 1400, 151))
			batch = append(batch, run(y.Addr(), 10, 9000)...)
			batch = append(batch, packet(y.Addr(), 9001, 10))
			batch = append(batch, run(x.Addr(), 3, 40000)...)
			for i := range batch {
				batch[i].TooBig = true // must be reset
			}
			send(t, from, batch...)
			for i := range batch {
				require.False(t, batch[i].TooBig)
			}
			at := 0
			for _, g := range receive(t, x, 155) {
				want := batch[at]
				require.Equal(t, got{from.Addr(), want.Pieces[0][0], len(want.Pieces[0])}, g, "packet %d", at)
				if at++; at == 152 {
					at += 11
				}
			}
			for i, g := range receive(t, y, 11) {
				require.Equal(t, byte(i), g.number)
			}
			st := from.Stats()
			assert.EqualValues(t, len(batch), st.Sent)
			assert.Equal(t, o.NoGSO, st.SentGrouped == 0)
			assert.Equal(t, o.NoGRO || o.NoGSO, x.Stats().ReceivedGrouped == 0, "as they were sent: the loopback does not cut groups")
			assert.EqualValues(t, len(batch), x.Stats().Received+y.Stats().Received)
			assert.Equal(t, st.SentBytes, x.Stats().ReceivedBytes+y.Stats().ReceivedBytes)
		})
	}
}

func TestManyDestinations(t *testing.T) {
	const count = 150
	d := open(t, Options{})
	from := bound(t, d, loopback4)
	var all []*socket
	var batch []dgram.Packet
	for i := range count {
		all = append(all, bound(t, d, loopback4))
		batch = append(batch, packet(all[i].Addr(), 100, byte(i)))
	}
	send(t, from, batch...)
	for i, s := range all {
		require.Equal(t, []got{{from.Addr(), byte(i), 100}}, receive(t, s, 1))
	}
	assert.Less(t, from.Stats().SendCalls, uint64(10))
}

// A packet that cannot be sent does not prevent others, wherever it is in the
// batch.
func TestBadPacketsAmongGood(t *testing.T) {
	a, b := two(t, Options{})
	nothing := dgram.Packet{To: b.Addr(), Pieces: [][]byte{{}, nil}}
	pieces := dgram.Packet{To: b.Addr(), Pieces: make([][]byte, dgram.PiecesMax+1)}
	pieces.Pieces[0] = []byte{1}
	big := packet(b.Addr(), dgram.PayloadMax+1, 1)
	bad := []dgram.Packet{
		nothing, pieces, big, packet(netip.AddrPort{}, 10, 1),
		packet(netip.MustParseAddrPort("[::1]:9"), 10, 1),
		packet(netip.MustParseAddrPort("255.255.255.255:9"), 10, 1),
		packet(netip.AddrPortFrom(b.Addr().Addr(), 0), 10, 1),
	}
	var batch []dgram.Packet
	for i, p := range bad {
		p.TooBig = true // must be reset
		batch = append(batch, packet(b.Addr(), 10, byte(2*i)), p, packet(b.Addr(), 10, byte(2*i+1)))
	}
	batch = append(batch, big)
	send(t, a, batch...)
	for i, g := range receive(t, b, 2*len(bad)) {
		require.Equal(t, byte(i), g.number)
	}
	for i := range batch {
		p := &batch[i]
		assert.Equal(t, len(p.Pieces[0]) > dgram.PayloadMax, p.TooBig, "packet %d", i)
	}
	st := a.Stats()
	assert.EqualValues(t, 2, st.TooBig)
	assert.EqualValues(t, len(bad)-1, st.Unsent)
	assert.EqualValues(t, 2*len(bad), st.Sent)
}

func TestAGroupThatIsTooBig(t *testing.T) {
	a, b := two(t, Options{})
	batch := run(b.Addr(), 3, dgram.PayloadMax+1)
	batch = append(batch, packet(b.Addr(), dgram.PayloadMax, 9))
	send(t, a, batch...)
	require.Equal(t, []got{{a.Addr(), 9, dgram.PayloadMax}}, receive(t, b, 1))
	for i := range 3 {
		assert.True(t, batch[i].TooBig)
	}
	assert.True(t, a.canGroup)
}

// Groups are as large as the kernel accepts, so that none fails because of its
// size.
func TestGroupsOfManyBytes(t *testing.T) {
	a, b := two(t, Options{})
	send(t, a, run(b.Addr(), 50, 8000)...)
	receive(t, b, 50)
	assert.EqualValues(t, 1, a.Stats().SendCalls)
	send(t, a, run(b.Addr(), groupMax+1, 10)...)
	receive(t, b, groupMax+1)
	assert.EqualValues(t, 2, a.Stats().SendCalls)
}

// Grouping stays enabled if the packets cannot be sent alone either.
func TestAGroupOfWhatCannotBeSent(t *testing.T) {
	a, b := two(t, Options{})
	group := append(run(b.Addr(), 2, dgram.PayloadMax+1), packet(b.Addr(), 10, 3))
	could := a.canGroup
	taken, full := a.separate(group, unix.EINVAL)
	assert.Equal(t, 3, taken)
	assert.False(t, full)
	assert.Equal(t, could, a.canGroup)
	require.Equal(t, byte(3), receive(t, b, 1)[0].number)
}

// The kernel refuses groups of a socket that computes no checksums (EINVAL).
func TestFallBackFromGroups(t *testing.T) {
	a, b := two(t, Options{})
	if !a.canGroup {
		t.Skip("no UDP_SEGMENT here")
	}
	require.NoError(t, unix.SetsockoptInt(a.fd, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1))
	for range 2 {
		send(t, a, run(b.Addr(), 10, 1000)...)
		for i, g := range receive(t, b, 10) {
			require.Equal(t, byte(i), g.number)
		}
		assert.False(t, a.canGroup)
	}
	assert.Zero(t, a.Stats().SentGrouped)
	assert.EqualValues(t, 12, a.Stats().SendCalls, "one in vain, ten alone, one for all")
}

func TestNobodyThere(t *testing.T) {
	a, b := two(t, Options{})
	gone := b.Addr()
	require.NoError(t, b.Close())
	c := bound(t, a.d, loopback4)
	for range 20 { // answered by ICMP port unreachable
		send(t, a, packet(gone, 10, 1), packet(gone, 10, 1), packet(c.Addr(), 10, 2))
		require.Equal(t, byte(2), receive(t, c, 1)[0].number)
		send(t, c, packet(a.Addr(), 10, 3))
		require.Equal(t, byte(3), receive(t, a, 1)[0].number)
	}
	assert.Zero(t, a.Stats().Unsent)
}

// A pending error of the socket costs at most the next packet.
func TestAPendingErrorBreaksNothing(t *testing.T) {
	a, b := two(t, Options{})
	gone := bound(t, a.d, loopback4)
	var n name
	size := a.d.zones.write(&n, gone.Addr(), a.family)
	require.Zero(t, connect(a.fd, &n, size))
	require.NoError(t, gone.Close())
	provoke := func() {
		send(t, a, packet(gone.Addr(), 10, 1))
		eventually(t, "the answer", func() bool {
			p := []unix.PollFd{{Fd: int32(a.fd)}}
			_, err := unix.Poll(p, 0)
			return err == nil && p[0].Revents&unix.POLLERR != 0
		})
	}
	provoke()
	require.Zero(t, a.Recv(room(1)))
	provoke()
	send(t, a, packet(b.Addr(), 10, 1), packet(b.Addr(), 11, 2))
	assert.EqualValues(t, 1, a.Stats().Unsent)
	require.Equal(t, byte(2), receive(t, b, 1)[0].number)
	provoke()
	send(t, a, run(b.Addr(), 3, 100)...)
	receive(t, b, 3)
	assert.True(t, a.canGroup, "it was not the group's fault")
}

func TestRoomThatIsTooSmall(t *testing.T) {
	a, b := two(t, Options{NoGRO: true})
	send(t, a, packet(b.Addr(), 101, 1), packet(b.Addr(), 100, 2), packet(b.Addr(), 300, 3), packet(b.Addr(), 50, 4))
	batch := []dgram.Arrival{{Buf: make([]byte, 100)}, {Buf: make([]byte, 60)}}
	var all []got
	eventually(t, "two", func() bool {
		all = append(all, split(t, batch[:b.Recv(batch)])...)
		return len(all) == 2
	})
	require.Equal(t, []got{{a.Addr(), 2, 100}, {a.Addr(), 4, 50}}, all)
	assert.EqualValues(t, 2, b.Stats().Truncated)
}

// Dropped packets leave no gap among those received at once.
func TestDroppedAmongMany(t *testing.T) {
	a, b := two(t, Options{NoGRO: true})
	b.streak = streakMany
	require.NoError(t, unix.Sendto(a.fd, nil, 0, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: int(b.Addr().Port())}))
	send(t, a, packet(b.Addr(), 101, 1), packet(b.Addr(), 90, 2), packet(b.Addr(), 300, 3), packet(b.Addr(), 50, 4), packet(b.Addr(), 80, 5))
	batch := make([]dgram.Arrival, 8)
	for i := range batch {
		batch[i].Buf = make([]byte, 100)
	}
	batch[2].Buf = batch[2].Buf[:95]
	batch[1].Buf = batch[1].Buf[:60]
	n := b.Recv(batch)
	require.Equal(t, []got{{a.Addr(), 2, 90}, {a.Addr(), 4, 50}, {a.Addr(), 5, 80}}, split(t, batch[:n]))
	st := b.Stats()
	assert.EqualValues(t, 2, st.Truncated)
	assert.EqualValues(t, 1, st.Empty)
	assert.EqualValues(t, 3, st.Received)
	assert.EqualValues(t, 1, st.RecvCalls)
	assert.Zero(t, b.Recv(batch))
	assert.Zero(t, b.streak)
}

// joined switches GRO on, if it can be.
func joined(s *socket) {
	if s.canJoin {
		s.join()
	}
}

// GRO is switched on once several large packets are there at once.
func TestGroupsAreTakenOfManyLargePackets(t *testing.T) {
	a, b := two(t, Options{})
	if !b.canJoin {
		t.Skip("no UDP_GRO here")
	}
	for range 10 {
		send(t, a, packet(b.Addr(), dgram.PayloadMin, 1))
		receive(t, b, 1)
	}
	assert.False(t, b.joins, "large ones come one by one")
	send(t, a, run(b.Addr(), 50, dgram.PayloadMin-1)...)
	receive(t, b, 50)
	assert.False(t, b.joins, "many small ones come")
	send(t, a, run(b.Addr(), 50, dgram.PayloadMin)...)
	receive(t, b, 50)
	assert.True(t, b.joins)
}

// If a group does not fit, the packets that fit are returned.
func TestGroupInRoomThatIsTooSmall(t *testing.T) {
	a, b := two(t, Options{})
	if joined(b); !b.joins || !a.canGroup {
		t.Skip("no UDP_GRO here")
	}
	send(t, a, run(b.Addr(), 10, 1300)...)
	batch := []dgram.Arrival{{Buf: make([]byte, 5000)}}
	require.Equal(t, 1, b.Recv(batch))
	require.Equal(t, []got{{a.Addr(), 0, 1300}, {a.Addr(), 1, 1300}, {a.Addr(), 2, 1300}}, split(t, batch))
	assert.EqualValues(t, 7, b.Stats().Truncated)
}

func TestEmptyDatagramsAreNone(t *testing.T) {
	a, b := two(t, Options{})
	to := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: int(b.Addr().Port())}
	for range 3 {
		require.NoError(t, unix.Sendto(a.fd, nil, 0, to))
	}
	require.Zero(t, b.Recv(room(2)))
	assert.EqualValues(t, 3, b.Stats().Empty)
	send(t, a, packet(b.Addr(), 1, 1))
	receive(t, b, 1)
}

func TestOverflowIsCounted(t *testing.T) {
	a, b := two(t, Options{RecvBuffer: 4096})
	const count = 200
	send(t, a, run(b.Addr(), count, 1000)...)
	batch := room(8)
	received := 0
	for {
		n := b.Recv(batch)
		if n == 0 {
			break
		}
		received += len(split(t, batch[:n]))
	}
	st := b.Stats()
	assert.Positive(t, st.Overflowed)
	assert.Less(t, received, count)
	require.NoError(t, b.Close())
	assert.Equal(t, st, b.Stats())
}
