package simdgram

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// A net has two hosts with a socket each.
type net struct {
	*testing.T
	*Network
	x, y *Host
	a, b dgram.Socket
}

func newNet(t *testing.T, seed uint64, link sim.LinkOptions, opts Options) *net {
	n := &net{T: t, Network: New(sim.New(sim.Options{Seed: seed, Link: link}), opts)}
	n.x, n.y = n.Host(netip.MustParseAddr("10.0.0.1")), n.Host(netip.MustParseAddr("10.0.0.2"))
	n.a, n.b = n.open(n.x), n.open(n.y)
	return n
}

func (n *net) open(h *Host) dgram.Socket {
	n.Helper()
	s, err := h.Open().Open(netip.AddrPortFrom(h.Addr(), 7000))
	require.NoError(n, err)
	return s
}

// send sends one datagram, and says whether it was too big.
func (n *net) send(from, to dgram.Socket, payload []byte) (tooBig bool) {
	n.Helper()
	p := []dgram.Packet{{To: to.Addr(), Pieces: [][]byte{payload}}}
	for {
		k, err := from.Send(p)
		if k == 1 {
			return p[0].TooBig
		}
		require.ErrorIs(n, err, dgram.ErrAgain)
		n.Idle(time.Millisecond)
	}
}

// recv is all that a socket has now.
func recv(s dgram.Socket) (all [][]byte) {
	room := []dgram.Arrival{{Buf: make([]byte, dgram.RoomMax)}}
	for s.Recv(room) == 1 {
		for rest := room[0].Buf[:room[0].Len]; len(rest) > 0; {
			k := min(room[0].Size, len(rest))
			all, rest = append(all, bytes.Clone(rest[:k])), rest[k:]
		}
	}
	return all
}

// passes reports whether a datagram comes through.
func (n *net) passes(from, to dgram.Socket, bytes int) bool {
	n.Helper()
	if n.send(from, to, make([]byte, bytes)) {
		return false
	}
	n.Sim().RunFor(10 * time.Millisecond)
	return len(recv(to)) == 1
}

func TestFaultsOfLinks(t *testing.T) {
	const count = 2000
	through := func(link sim.LinkOptions) (arrived, wrong, overtaken int, s Stats) {
		n := newNet(t, 3, link, Options{})
		last := uint64(0)
		for i := range uint64(count) {
			n.send(n.a, n.b, binary.LittleEndian.AppendUint64(nil, i*0x9e3779b97f4a7c15))
			n.Sim().RunFor(10 * time.Microsecond)
			for _, p := range recv(n.b) {
				arrived++
				number := binary.LittleEndian.Uint64(p) * 0xf1de83e19937733d
				if number >= count {
					wrong++
				} else if number < last {
					overtaken++
				} else {
					last = number
				}
			}
		}
		n.Sim().RunFor(time.Second)
		return arrived + len(recv(n.b)), wrong, overtaken, n.Stats()
	}
	arrived, wrong, overtaken, s := through(sim.LinkOptions{DelayMean: 100 * time.Microsecond})
	assert.Equal(t, [3]int{count, 0, 0}, [3]int{arrived, wrong, overtaken}, "a link without faults")
	assert.Equal(t, Stats{Sent: count, Arrived: count}, s)
	arrived, _, _, _ = through(sim.LinkOptions{Loss: 0.3})
	assert.InDelta(t, 0.7*count, arrived, 0.05*count)
	arrived, _, _, _ = through(sim.LinkOptions{Duplicate: 0.3})
	assert.InDelta(t, 1.3*count, arrived, 0.05*count)
	_, _, overtaken, _ = through(sim.LinkOptions{DelayMean: 100 * time.Microsecond, Reorder: 0.3})
	assert.Greater(t, overtaken, count/20)
	arrived, wrong, _, s = through(sim.LinkOptions{Corrupt: 0.3})
	assert.Equal(t, count, arrived)
	assert.InDelta(t, 0.3*count, wrong, 0.05*count, "real bits are wrong")
	assert.EqualValues(t, wrong, s.Corrupted)
}

// TestCorruptionIsRealAndSmall: at least one bit and only a few differ, and a
// duplicate has other errors.
func TestCorruptionIsRealAndSmall(t *testing.T) {
	n := newNet(t, 1, sim.LinkOptions{Corrupt: 1, Duplicate: 1}, Options{})
	sizes := map[int]bool{}
	for i := range 300 {
		sent := make([]byte, 1+i%50)
		n.send(n.a, n.b, sent)
		n.Sim().RunFor(time.Millisecond)
		got := recv(n.b)
		require.Len(t, got, 2)
		for _, p := range got {
			wrong := 0
			for _, b := range p {
				wrong += bits.OnesCount8(b)
			}
			require.Positive(t, wrong)
			sizes[wrong] = true
		}
		require.Equal(t, make([]byte, len(sent)), sent)
	}
	assert.True(t, sizes[1] && sizes[2] && len(sizes) > 2)
}

func TestPartitions(t *testing.T) {
	n := newNet(t, 1, sim.LinkOptions{DelayMin: time.Millisecond, DelayMean: time.Millisecond}, Options{})
	both := func() [2]bool { return [2]bool{n.passes(n.a, n.b, 10), n.passes(n.b, n.a, 10)} }
	assert.Equal(t, [2]bool{true, true}, both())
	n.Cut(n.x, n.y)
	assert.Equal(t, [2]bool{false, false}, both())
	n.Heal(n.y, n.x)
	n.CutOneWay(n.x, n.y)
	assert.Equal(t, [2]bool{false, true}, both())
	n.HealAll()
	assert.Equal(t, [2]bool{true, true}, both())
	n.send(n.a, n.b, []byte("on its way"))
	n.Cut(n.x, n.y)
	n.Sim().RunFor(time.Second)
	assert.Empty(t, recv(n.b))
	n.Heal(n.x, n.y)
	n.SetLink(n.x, n.y, sim.LinkOptions{Loss: 1})
	assert.Equal(t, [2]bool{false, true}, both())
}

func TestMTU(t *testing.T) {
	n := newNet(t, 1, sim.LinkOptions{DelayMin: time.Millisecond, DelayMean: time.Millisecond}, Options{MTUBytes: 9000})
	to := n.b.Addr()
	assert.Equal(t, 9000, n.a.PathMTU(to))
	assert.True(t, n.passes(n.a, n.b, 9000))
	assert.True(t, n.send(n.a, n.b, make([]byte, 9001)), "more than the host's own link")

	n.SetMTU(n.x, n.y, 1500, false)
	assert.Equal(t, 9000, n.a.PathMTU(to), "nobody knows yet")
	assert.False(t, n.passes(n.a, n.b, 1501), "lost")
	assert.Equal(t, 1500, n.a.PathMTU(to), "now it was told")
	assert.True(t, n.send(n.a, n.b, make([]byte, 1501)))
	assert.True(t, n.passes(n.a, n.b, 1500))
	assert.True(t, n.passes(n.b, n.a, 9000), "the way back is as it was")

	n.SetMTU(n.x, n.y, 4000, false)
	n.Sim().RunFor(dgram.PathMTUAge)
	assert.Equal(t, 9000, n.a.PathMTU(to), "worth another try")
	assert.False(t, n.passes(n.a, n.b, 5000))
	assert.Equal(t, 4000, n.a.PathMTU(to))

	n.SetMTU(n.y, n.x, 1400, true)
	for range 3 {
		assert.False(t, n.send(n.b, n.a, make([]byte, 1401)))
		n.Sim().RunFor(10 * time.Millisecond)
		assert.Empty(t, recv(n.a))
		assert.Equal(t, 9000, n.b.PathMTU(n.a.Addr()), "nobody ever says so")
	}
	n.SetMTU(n.x, n.y, 1, false)
	assert.True(t, n.passes(n.a, n.b, dgram.PayloadMin), "that goes everywhere")
	assert.EqualValues(t, 5, n.Stats().Vanished)
}

func TestMTUChangesByItself(t *testing.T) {
	n := newNet(t, 1, sim.LinkOptions{}, Options{MTUBytes: 9000, MTUChangeEvery: 10 * time.Millisecond, Silent: 0.3})
	seen := map[int]bool{}
	for range 300 {
		n.passes(n.a, n.b, 9000)
		require.True(t, n.passes(n.a, n.b, dgram.PayloadMin))
		seen[n.path(n.x, n.y).mtu] = true
	}
	assert.Greater(t, len(seen), 50)
	assert.Greater(t, n.Stats().Vanished, uint64(2))
	assert.Greater(t, n.a.Stats().TooBig, uint64(20))
}

// TestFourIntoOne has a card slower than the arrivals: its queue fills, the rest is
// dropped, and packets pass at the card's rate.
func TestFourIntoOne(t *testing.T) {
	n := newNet(t, 1, sim.LinkOptions{}, Options{HeaderBytes: 28, RecvBytesMax: 1 << 30})
	n.y.SetDown(sim.Rate{BytesPerSecond: 1e6, QueueBytes: 10_000})
	senders := []dgram.Socket{n.a}
	for i := range byte(3) {
		senders = append(senders, n.open(n.Host(netip.AddrFrom4([4]byte{10, 0, 1, i}))))
	}
	got := 0
	for range 1000 { // a second
		for _, s := range senders {
			n.send(s, n.b, make([]byte, 972))
		}
		n.Sim().RunFor(time.Millisecond)
		got += len(recv(n.b))
		require.LessOrEqual(t, n.y.Down().Queued(), 10_000)
	}
	assert.InDelta(t, 1000, got, 1, "1 MB/s with headers")
	assert.EqualValues(t, 4000, uint64(got)+n.Stats().Dropped+uint64(n.y.Down().Queued()/1000))
	assert.InDelta(t, 10*time.Millisecond, n.y.Down().Delay(), float64(time.Millisecond))
}

// TestSlowCard has a sender that fills its send buffer, and a path with its own
// rate.
func TestSlowCard(t *testing.T) {
	n := newNet(t, 1, sim.LinkOptions{}, Options{SendBytesMax: 10_000, PerPacketBytes: 1})
	n.x.SetUp(sim.Rate{BytesPerSecond: 1e6})
	batch := make([]dgram.Packet, 100)
	for i := range batch {
		batch[i] = dgram.Packet{To: n.b.Addr(), Pieces: [][]byte{make([]byte, 999)}}
	}
	k, err := n.a.Send(batch)
	require.ErrorIs(t, err, dgram.ErrAgain)
	assert.Equal(t, 10, k)
	n.Sim().RunFor(1028 * time.Microsecond)
	k, err = n.a.Send(batch)
	require.ErrorIs(t, err, dgram.ErrAgain)
	assert.Equal(t, 1, k, "one has left")
	n.x.SetUp(sim.Rate{})
	n.Sim().RunFor(time.Second)
	assert.Len(t, recv(n.b), 11)
	n.SetRate(n.x, n.y, sim.Rate{BytesPerSecond: 1e5, QueueBytes: 5000})
	k, err = n.a.Send(batch)
	require.NoError(t, err)
	assert.Equal(t, 100, k)
	n.Sim().RunFor(time.Second)
	assert.Len(t, recv(n.b), 4)
	assert.EqualValues(t, 96, n.Stats().Dropped)
}

func TestInjectAndFilter(t *testing.T) {
	n := newNet(t, 1, sim.LinkOptions{Loss: 1}, Options{})
	liar := netip.MustParseAddrPort("203.0.113.7:53")
	payload := []byte("forged")
	n.Cut(n.x, n.y)
	n.Inject(Datagram{From: liar, To: n.b.Addr(), Payload: payload})
	clear(payload)
	room := []dgram.Arrival{{Buf: make([]byte, 100)}, {Buf: make([]byte, 100)}}
	assert.Zero(t, n.b.Recv(room), "not within the call")
	n.Sim().RunFor(0)
	require.Equal(t, 1, n.b.Recv(room))
	assert.Equal(t, liar, room[0].From)
	assert.Equal(t, "forged", string(room[0].Buf[:room[0].Len]))

	n.Inject(Datagram{From: liar, To: netip.MustParseAddrPort("10.0.0.2:9")})
	n.Inject(Datagram{From: liar, To: liar, Payload: payload})
	n.Inject(Datagram{From: liar, To: n.b.Addr()})
	n.Inject(Datagram{To: n.b.Addr(), Payload: payload})
	n.Sim().RunFor(0)
	assert.Zero(t, n.b.Recv(room))
	assert.EqualValues(t, 1, n.b.Stats().Empty)
	assert.EqualValues(t, 1, n.b.Stats().Odd)
	assert.EqualValues(t, 2, n.Stats().Nobody)

	n.HealAll()
	n.SetLink(n.x, n.y, sim.LinkOptions{})
	var notes []Datagram
	n.SetFilter(func(d Datagram) bool {
		notes = append(notes, d)
		return len(notes) != 2
	})
	for i := range byte(3) {
		n.send(n.a, n.b, []byte{i + 1})
	}
	n.Sim().RunFor(0)
	assert.Equal(t, [][]byte{{1}, {3}}, recv(n.b))
	assert.EqualValues(t, 1, n.Stats().Filtered)
	n.Inject(notes[1]) // replayed
	n.SetFilter(nil)
	n.Sim().RunFor(0)
	assert.Equal(t, [][]byte{{2}}, recv(n.b))
}

func TestRestart(t *testing.T) {
	n := newNet(t, 1, sim.LinkOptions{DelayMin: time.Millisecond, DelayMean: time.Millisecond}, Options{})
	n.send(n.b, n.a, []byte("the last"))
	n.y.Crash()
	_, err := n.b.Send([]dgram.Packet{{To: n.a.Addr(), Pieces: [][]byte{{1}}}})
	require.ErrorIs(t, err, dgram.ErrClosed)
	n.send(n.a, n.b, []byte("in vain"))
	n.Sim().RunFor(time.Second)
	assert.EqualValues(t, 1, n.Stats().Nobody)
	assert.Equal(t, [][]byte{[]byte("the last")}, recv(n.a), "what was under way arrives")

	n.send(n.a, n.b, []byte("early"))
	n.b = n.open(n.y) // the same address
	assert.Equal(t, netip.MustParseAddrPort("10.0.0.2:7000"), n.b.Addr())
	n.Sim().RunFor(time.Second)
	assert.Len(t, recv(n.b), 1, "it gets what was for the one before")
}

func TestOverflow(t *testing.T) {
	n := newNet(t, 1, sim.LinkOptions{}, Options{RecvBytesMax: 5000, PerPacketBytes: 500})
	for range 10 {
		n.send(n.a, n.b, make([]byte, 500))
	}
	n.Sim().RunFor(0)
	assert.Len(t, recv(n.b), 5)
	assert.EqualValues(t, 5, n.b.Stats().Overflowed)
	assert.EqualValues(t, 5, n.Stats().Overflowed)
}

// transcript is what a random network did to random traffic.
func transcript(seed uint64) string {
	var s strings.Builder
	world := sim.New(sim.Options{Seed: seed})
	opts := RandomOptions(world.Rand())
	opts.Trace = func(line string) { fmt.Fprintln(&s, line) }
	n := New(world, opts)
	rng := rand.New(rand.NewPCG(seed, 9))
	var socks []dgram.Socket
	var hosts []*Host
	for i := range byte(3) {
		h := n.Host(netip.AddrFrom4([4]byte{10, 0, 0, i}))
		k, _ := h.Open().Open(netip.AddrPortFrom(h.Addr(), 0))
		socks, hosts = append(socks, k), append(hosts, h)
	}
	for _, h := range hosts {
		n.SetLink(h, hosts[0], sim.RandomLink(rng))
	}
	room := []dgram.Arrival{{Buf: make([]byte, 3000)}, {Buf: make([]byte, dgram.RoomMax)}}
	for range 300 {
		from, to := socks[rng.IntN(3)], socks[rng.IntN(3)]
		k, err := from.Send([]dgram.Packet{
			{To: to.Addr(), Pieces: [][]byte{make([]byte, rng.IntN(from.PathMTU(to.Addr())))}},
			{To: to.Addr(), Pieces: [][]byte{make([]byte, 10)}},
		})
		fmt.Fprintln(&s, k, err)
		n.Idle(time.Duration(rng.IntN(200)) * time.Microsecond)
		for range to.Recv(room) {
			fmt.Fprintln(&s, room[0].From, room[0].Len, room[0].Size)
		}
	}
	fmt.Fprintln(&s, n.Stats())
	return s.String()
}

func TestASeedReplaysExactly(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		assert.Equal(t, transcript(seed), transcript(seed))
		assert.NotEqual(t, transcript(seed), transcript(seed+1000))
	})
}

func TestIdle(t *testing.T) {
	n := newNet(t, 1, sim.LinkOptions{}, Options{})
	n.Idle(time.Second)
	assert.Equal(t, time.Second, n.Clock(), "nothing to do: time passes")
	n.send(n.a, n.b, []byte{1})
	n.Idle(-1)
	assert.Len(t, recv(n.b), 1)
	assert.Panics(t, func() { n.Idle(-1) }, "nothing could end this wait")
	assert.Panics(t, func() { n.Host(netip.MustParseAddr("127.0.0.1")) })
	assert.Same(t, n.x, n.Host(n.x.Addr()))
}
