package udp_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

const (
	heardMax    = 4096    // packets of honest sides that a flood replays
	floodGrowth = 4 << 20 // bytes of all sides, mainly for the buffers of one connection
)

// A flood sends packets with unused source addresses, each used once, so that a
// packet sent to such an address has one cause.
type flood struct {
	t       *testing.T
	rng     *rand.Rand
	w       *udptest.World
	last    netip.Addr
	causes  map[netip.Addr]int // bytes from that address, until they are answered
	heard   []simdgram.Datagram
	answers map[wire.Kind]int
	larger  int // answers larger than what caused them, or without a cause
	sent    int
	packet  []byte
}

func newFlood(t *testing.T, w *udptest.World, seed uint64) *flood {
	f := &flood{
		t: t, rng: rand.New(rand.NewPCG(seed, 43)), w: w, last: netip.MustParseAddr("172.16.0.0"),
		causes: make(map[netip.Addr]int), answers: make(map[wire.Kind]int),
	}
	w.Net.SetFilter(f.leaves)
	return f
}

// leaves checks packets that leave a socket.
func (f *flood) leaves(d simdgram.Datagram) bool {
	if to := d.To.Addr().As4(); to[0] != 172 {
		if len(f.heard) < heardMax {
			f.heard = append(f.heard, d)
		}
		return true
	}
	kind, _ := wire.KindOf(d.Payload)
	f.answers[kind]++
	if len(d.Payload) > f.causes[d.To.Addr()] {
		f.larger++
	}
	delete(f.causes, d.To.Addr()) // a second answer would have no cause
	return true
}

// wave sends many packets to a port of a side.
func (f *flood) wave(to netip.AddrPort, packets int) {
	for range packets {
		f.last = f.last.Next()
		d := simdgram.Datagram{From: netip.AddrPortFrom(f.last, uint16(1+f.rng.IntN(1<<16-1))), To: to, Payload: f.make()}
		f.causes[f.last] = len(d.Payload)
		f.w.Net.Inject(d)
		f.sent++
	}
}

// make makes a packet.
func (f *flood) make() []byte {
	switch f.rng.IntN(8) {
	default:
		return f.init()
	case 4: // of another version, or another mode
		b := f.init()
		b[1+f.rng.IntN(2)] = byte(f.rng.IntN(6))
		return b[:wire.InitFixed+f.rng.IntN(len(b)-wire.InitFixed+1)]
	case 5: // of a connection
		f.packet = wire.Packet{Lane: 0, To: f.rng.Uint32() | 1, Number: f.rng.Uint64()}.Append(f.packet[:0])
		return append(f.packet, make([]byte, f.rng.IntN(64))...)
	case 6: // packets recorded from handshakes; TestRacedPacket and TestReplays cover the rest
		if len(f.heard) > 0 {
			b := f.heard[f.rng.IntN(len(f.heard))].Payload
			if kind, _ := wire.KindOf(b); kind != wire.KindPacket {
				return b
			}
		}
		return f.init()
	case 7: // anything
		f.packet = f.packet[:0]
		for range f.rng.IntN(100) {
			f.packet = append(f.packet, byte(f.rng.IntN(8)))
		}
		return f.packet
	}
}

// init is an INIT, mostly without a cookie.
func (f *flood) init() []byte {
	m := wire.Init{Mode: wire.Mode(1 + f.rng.IntN(4)), Version: wire.Version, From: f.rng.Uint32() | 1, Nonce: f.rng.Uint64(), Port: 1}
	if f.rng.IntN(3) == 0 {
		binary.LittleEndian.PutUint64(m.Cookie[:], f.rng.Uint64())
	}
	f.packet = m.Append(f.packet[:0])
	f.packet = append(f.packet, make([]byte, m.Mode.InitBytes()-wire.InitClear)...)
	return f.packet
}

// A rush is a flood over a side that has other work.
type rush struct {
	*flood
	victim *side
	others []*side
	c      *talk
	waved  time.Duration
	polled time.Duration // the victim, which is slow
}

// until floods until done.
func (r *rush) until(limit time.Duration, what string, done func() bool) time.Duration {
	r.t.Helper()
	to, start := netip.MustParseAddrPort(r.victim.name), r.w.Clock()
	for !done() {
		now := r.w.Clock()
		require.Less(r.t, now-start, limit, "%s: %+v", what, r.victim.d.Stats())
		// Five million packets in a second, so that buffers overflow.
		if n := int((now - r.waved) / (200 * time.Nanosecond)); n > 0 {
			r.wave(to, min(n, 500))
			r.waved = now
		}
		r.c.speak()
		turn(r.others...)
		if now >= r.polled {
			r.victim.poll()
			r.polled = now + time.Duration(r.rng.Int64N(int64(100*time.Microsecond)))
		}
	}
	return r.w.Clock() - start
}

// TestFloodOfRequests: requests and other packets from spoofed addresses create no
// state, get no answer larger than themselves, and do not keep a peer out, neither
// one that connects nor one that is connected.
func TestFloodOfRequests(t *testing.T) { each(t, floodOfRequests) }

func floodOfRequests(t *testing.T, seed uint64, p udp.Provider) {
	link := sim.LinkOptions{DelayMin: 50 * time.Microsecond, DelayMean: 50 * time.Microsecond}
	w := udptest.New(seed, link, simdgram.Options{RecvBytesMax: 128 << 10, PerPacketBytes: 256}, p)
	victim, guest, late := newSide(t, w, w.NewName()), newSide(t, w, w.NewName()), newSide(t, w, w.NewName())
	f := newFlood(t, w, seed)
	r := &rush{flood: f, victim: victim, others: []*side{guest, late}, c: newTalk(guest, victim, talkSize)}
	before := heap()

	guest.dial(victim)
	r.c.restart()
	connected := r.until(3*time.Second, "a connection", func() bool { return guest.up && victim.up })
	first := r.c.total
	talked := r.until(3*time.Second, "messages", func() bool { return r.c.total > first+60 })

	// Another peer is served too, although the victim accepts one at a time.
	late.dial(victim)
	rejected := r.until(3*time.Second, "an answer", func() bool { return late.port == nil })
	require.ErrorContains(t, late.err, "in use")

	stats := victim.d.Stats()
	f.causes, f.heard = nil, nil
	grown := heap() - before
	t.Logf("%d packets; connected in %v, 60 messages in %v, rejected in %v; answers %v; %d bytes of memory; %+v",
		f.sent, connected, talked, rejected, f.answers, grown, stats)
	require.Zero(t, f.larger, "answers larger than what caused them")
	require.Equal(t, 2, victim.asked)
	require.Equal(t, 1, victim.ups)
	require.Equal(t, 1, stats.Conns)
	require.Less(t, grown, int64(floodGrowth), "memory")
	require.NotZero(t, stats.Sockets[wire.LanePriority].Overflowed, "a flood")
	require.NotZero(t, f.answers[wire.KindRetry])
	require.NotZero(t, f.answers[wire.KindRefused])
	require.NotZero(t, f.answers[wire.KindReset])
	require.Zero(t, f.answers[wire.KindPacket]+f.answers[wire.KindResponse]+f.answers[wire.KindInit])
}
