package udp_test

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

var mutatedPackets = flag.Int("mutated.packets", 1_000_000, "how many mutated packets TestMutatedPackets sends")

const (
	captureMax = 512       // packets that an attacker keeps
	renewEvery = 10_000    // honest peers reconnect after this many mutated packets
	mutantMax  = 4 << 10   // bytes
	heapStays  = 8 << 20   // bytes that may remain in use
	heapPeak   = 128 << 20 // bytes more than before, at most
)

// An attacker sees all packets, and sends any packet with any source address.
type attacker struct {
	rng    *rand.Rand
	w      *udptest.World
	sum    bool // repairs the checksum of every second mutant
	heard  [captureMax]simdgram.Datagram
	count  int
	rare   []simdgram.Datagram // of the handshake, which has few packets
	inits  map[string]bool     // requests of honest peers that contain a cookie
	mutant []byte
	sent   int
}

func newAttacker(w *udptest.World, seed uint64) *attacker {
	a := &attacker{rng: rand.New(rand.NewPCG(seed, 41)), w: w, inits: make(map[string]bool)}
	w.Net.SetFilter(a.listen)
	return a
}

func (a *attacker) listen(d simdgram.Datagram) bool {
	kind, _ := wire.KindOf(d.Payload)
	if kind == wire.KindPacket {
		a.heard[a.count%captureMax] = d
		a.count++
		return true
	}
	if len(a.rare) == captureMax {
		a.rare = append(a.rare[:0], a.rare[captureMax/2:]...)
	}
	a.rare = append(a.rare, d)
	if m, err := wire.ParseInit(d.Payload); err == nil && m.Cookie != (wire.Cookie{}) {
		a.inits[string(d.Payload)] = true
	}
	return true
}

// pick returns one of the captured packets, mostly one of a connection.
func (a *attacker) pick() simdgram.Datagram {
	if a.count == 0 || a.rng.IntN(4) == 0 {
		return a.rare[a.rng.IntN(len(a.rare))]
	}
	return a.heard[a.rng.IntN(min(a.count, captureMax))]
}

// strike sends one mutated packet.
func (a *attacker) strike() {
	d := a.pick()
	a.mutant = mutate(a.rng, a.mutant, d.Payload, a.pick().Payload)
	if a.sum && a.rng.IntN(2) == 0 {
		a.mutant = repair(a.mutant)
	}
	d.Payload = a.mutant
	switch a.rng.IntN(8) {
	case 0: // back to its sender
		d.From, d.To = d.To, d.From
	case 1: // from another source address
		d.From = stranger(a.rng)
	case 2: // to another's port
		d.To = netip.AddrPortFrom(d.To.Addr(), a.pick().To.Port())
	}
	a.w.Net.Inject(d)
	a.sent++
}

// stranger returns an address at which there is no host.
func stranger(rng *rand.Rand) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(rng.IntN(256))}), uint16(1+rng.IntN(1<<16-1)))
}

// repair corrects the checksum of a packet of an insecure device.
func repair(b []byte) []byte {
	if len(b) < wire.SumLen {
		return b
	}
	head := b[:len(b)-wire.SumLen]
	return wire.AppendSum(head, wire.Sum(0, head))
}

// fields of the headers: their offsets in a packet with a segment, in bytes.
var fields = []int{0, 1, 2, 4, 8, 16, 17, 20, 24, 28, 32, 40, 41, 44, 48, 52, 56, 64, 72}

// mutate changes a packet in a few ways, most of them in a header.
func mutate(rng *rand.Rand, to, packet, other []byte) []byte {
	to = append(to[:0], packet...)
	for range 1 + rng.IntN(3) {
		if len(to) < 2 {
			return to
		}
		at := rng.IntN(len(to))
		if rng.IntN(2) == 0 {
			at = rng.IntN(min(len(to), 80))
		}
		switch rng.IntN(10) {
		case 0, 1:
			to[at] ^= 1 << rng.IntN(8)
		case 2:
			to[at] = byte(rng.Uint32())
		case 3:
			to = to[:at] // cut short
		case 4:
			to = append(to[:at], to[at+1:]...) // one byte lost
		case 5:
			to = append(to[:at+1], to[at:]...) // one byte twice
		case 6:
			if from := rng.IntN(len(other) + 1); from < len(other) {
				to = append(to[:at], other[from:]...)
			}
		case 7:
			if at+8 <= len(to) {
				binary.LittleEndian.PutUint64(to[at:], rng.Uint64()>>rng.IntN(64))
			}
		case 8:
			if at = fields[rng.IntN(len(fields))]; at+4 <= len(to) {
				numbers := []uint32{0, 1, 31, 32, 33, 4095, 4096, 1<<30 + 1, 1 << 31, 1<<32 - 1}
				binary.LittleEndian.PutUint32(to[at:], numbers[rng.IntN(len(numbers))])
			}
		case 9:
			to[0] = byte(rng.IntN(8)) // another kind
		}
		to = to[:min(len(to), mutantMax)]
	}
	return to
}

// heap returns how much memory is in use, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// A siege is a device, an honest peer that keeps exchanging messages with it, and an
// attacker.
type siege struct {
	t              *testing.T
	w              *udptest.World
	victim, honest *side
	there, back    *talk
	a              *attacker
	connects       int
}

func newSiege(t *testing.T, seed uint64, p udp.Provider) *siege {
	w := udptest.New(seed, sim.LinkOptions{DelayMin: 5 * time.Microsecond, DelayMean: 5 * time.Microsecond}, simdgram.Options{}, p)
	s := &siege{t: t, w: w, victim: newSide(t, w, w.NewName()), honest: newSide(t, w, w.NewName()), a: newAttacker(w, seed)}
	s.there = newTalk(s.honest, s.victim, talkSize)
	s.back = newTalk(s.victim, s.honest, talkSize)
	s.connect()
	return s
}

// talkSize returns a size: mostly small, sometimes a descriptor's limit.
func talkSize(n uint64) int {
	switch {
	case n%64 == 0:
		return 8192
	case n%8 == 0:
		return 1500
	}
	return 8 + int(n*37%600)
}

// turn lets both sides act.
func (s *siege) turn() {
	s.there.speak()
	s.back.speak()
	turn(s.victim, s.honest)
}

// until continues until done returns true.
func (s *siege) until(what string, done func() bool) {
	s.t.Helper()
	within(s.t, 30*time.Second, what, func() bool {
		s.redial()
		s.there.speak()
		s.back.speak()
		return done()
	}, s.victim, s.honest)
}

// redial connects again if there is no connection, nor an attempt.
func (s *siege) redial() {
	switch {
	case s.honest.port != nil:
	case s.victim.port != nil:
		s.victim.port.Disconnect()
	default:
		s.there.restart()
		s.back.restart()
		s.honest.dial(s.victim)
		s.connects++
	}
}

// rest lets time pass, in which the honest sides send little.
func (s *siege) rest(d time.Duration) {
	s.there.quiet, s.back.quiet = true, true
	struck := s.w.Clock()
	for until := struck + d; s.w.Clock() < until; s.turn() {
		if s.w.Clock() > struck+time.Millisecond {
			struck = s.w.Clock()
			s.a.strike()
		}
	}
	s.there.quiet, s.back.quiet = false, false
}

// connect makes a new connection, with as many attempts as it takes.
func (s *siege) connect() {
	s.t.Helper()
	for _, x := range []*side{s.honest, s.victim} {
		if x.port != nil {
			x.port.Disconnect()
		}
	}
	s.until("both sides are connected", func() bool { return s.honest.up && s.victim.up })
	s.talks()
}

// talks proves that messages arrive in both directions.
func (s *siege) talks() {
	s.t.Helper()
	there, back := s.there.total, s.back.total
	s.until("messages of both sides arrive", func() bool {
		return s.there.total >= there+2*rdmaEvery && s.back.total >= back+2*rdmaEvery
	})
}

// TestMutatedPackets sends a million mutated packets to two endpoints that keep
// exchanging messages. The packets have no effect but the time that they cost.
func TestMutatedPackets(t *testing.T) {
	for name, p := range map[string]udp.Provider{"secure": {Key: udptest.Key}, "static": {Identity: udptest.Static}, "insecure": {Insecure: true}} {
		t.Run(name, func(t *testing.T) {
			seed := sim.Seed(t)
			s := newSiege(t, seed, p)
			s.attack(packetsOf(t, 1))
			require.LessOrEqual(t, s.victim.ups, s.connects, "connections are made by honest peers alone")
			require.LessOrEqual(t, s.victim.asked, len(s.a.inits), "requests come from honest peers alone")
			require.Zero(t, s.victim.d.Stats().Protocol+s.honest.d.Stats().Protocol, "nothing forged is taken for the other side's")
			require.NotZero(t, s.victim.d.Stats().Forged)
			require.NotZero(t, s.victim.d.Stats().Replayed)
		})
	}
}

// TestMutatedPacketsWithChecksums is what a device without a key must withstand: the
// attacker can send any packet in the honest peer's name. The device does not panic,
// its memory is bounded, and it works once the attacker stops.
func TestMutatedPacketsWithChecksums(t *testing.T) {
	seed := sim.Seed(t)
	s := newSiege(t, seed, udp.Provider{Insecure: true})
	s.a.sum, s.there.wild, s.back.wild = true, true, true
	s.attack(packetsOf(t, 4))
	require.NotZero(t, s.victim.d.Stats().Protocol, "lies are noticed")
	s.w.Net.SetFilter(nil)
	s.connect()
	for _, c := range []*talk{s.there, s.back} {
		c.quiet = true
		s.until("everything is done", func() bool { return c.pending == 0 })
		c.quiet, c.wild = false, false
		c.restart()
	}
	s.connect()
	s.talks()
}

func packetsOf(t *testing.T, parts int) int {
	n := *mutatedPackets / parts
	switch {
	case race.Enabled:
		n = min(n, 10_000)
	case testing.Short():
		n = min(n, 50_000)
	}
	return n
}

// attack sends mutated packets.
func (s *siege) attack(packets int) {
	s.t.Helper()
	before, peak, began, renewed := heap(), int64(0), time.Now(), 0
	for s.a.sent < packets {
		for range 1 + s.a.rng.IntN(16) {
			s.a.strike()
		}
		s.turn()
		if s.a.sent-renewed >= renewEvery {
			renewed = s.a.sent
			s.talks()
			s.rest(300 * time.Millisecond)
			peak = max(peak, heap())
			s.connect()
		}
		s.redial()
	}
	s.talks()
	s.rest(300 * time.Millisecond)
	after := heap()
	s.t.Logf("%d mutated packets in %v, %v of virtual time; %d and %d messages; heap %d before, at most %d, %d after; %d connections; victim %+v",
		s.a.sent, time.Since(began).Round(time.Millisecond), s.w.Clock(), s.there.total, s.back.total, before, peak, after, s.connects, s.victim.d.Stats())
	require.Less(s.t, after-before, int64(heapStays), "memory stays behind")
	require.Less(s.t, peak-before, int64(heapPeak))
	require.LessOrEqual(s.t, s.victim.d.Stats().Conns, 1, "connections stay behind")
}
