package tcp_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

var mutatedStreams = flag.Int("mutated.streams", 1_000_000, "how many mutated streams TestMutatedStreams sends")

// streamMax bounds the captured streams that are mutated: in a long one, fewer
// mutations meet a header.
const streamMax = 1300

// capturedStreams are short ones, and single messages.
func capturedStreams(t testing.TB) (all [][]byte) {
	for _, file := range []string{"messages", "streams", "header"} {
		for _, v := range golden.Load(t, "../../internal/tcp/wire/testdata/"+file+".golden") {
			if len(v.Bytes) <= streamMax {
				all = append(all, v.Bytes)
			}
		}
	}
	require.Greater(t, len(all), 30)
	return all
}

// mutate changes a stream in a few ways, most of them in a header. Every second
// time it leaves the sizes unchanged, so that a receiver survives it and the next
// stream finds the receiver in some unusual state.
func mutate(rng *rand.Rand, to, stream []byte, all [][]byte) []byte {
	to = append(to[:0], stream...)
	if rng.IntN(2) == 0 {
		to[4] = byte(2 << rng.IntN(3))
		for range 1 + rng.IntN(3) {
			if at := rng.IntN(len(to)); at >= 8 && at < 16 || at >= wire.HeaderLen {
				to[at] = byte(rng.Uint32())
			}
		}
		return to
	}
	for range 1 + rng.IntN(3) {
		if len(to) < 2 {
			return to
		}
		at := rng.IntN(len(to))
		if rng.IntN(2) == 0 {
			at = rng.IntN(min(len(to), wire.HeaderLen))
		}
		switch rng.IntN(9) {
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
			other := all[rng.IntN(len(all))]
			to = append(to[:at], other[rng.IntN(len(other)):]...)
		case 7:
			if at+8 <= len(to) {
				binary.LittleEndian.PutUint64(to[at:], rng.Uint64()>>rng.IntN(64))
			}
		case 8:
			if len(to) >= wire.HeaderLen {
				sizes := []uint64{0, 1, 16383, 16384, 16385, 1<<24 - 1, 1 << 24, 1<<24 + 1, 1 << 31, 1 << 32, 1 << 63, 1<<64 - 1}
				binary.LittleEndian.PutUint64(to[16:], sizes[rng.IntN(len(sizes))])
			}
		}
		to = to[:min(len(to), 4*streamMax)]
	}
	return to
}

// goesOn reports whether a receiver expects a header after the stream.
func goesOn(stream []byte) bool {
	var r wire.Reader
	for len(stream) > 0 {
		n := min(len(stream), r.Left())
		if n > 0 {
			r.Body(n)
		} else {
			var err error
			if _, n, _, err = r.Header(stream); err != nil {
				return false
			}
		}
		stream = stream[n:]
	}
	return r.Left() == 0 && !r.Partial()
}

// An attacker sends mutated streams, on a new connection after each stream that
// its receiver cannot continue from.
type attacker struct {
	rng     *rand.Rand
	to      unix.Sockaddr
	fd      int // -1: none
	streams atomic.Int64
	// Connections made, by how they ended.
	resets, finishes, reused int
}

func (a *attacker) connect() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	a.fd = fd
	for {
		if err = unix.Connect(fd, a.to); err == nil || errors.Is(err, unix.EISCONN) {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// hangUp ends the connection: mostly with a reset, which leaves no port behind
// that cannot be used for a minute.
func (a *attacker) hangUp() {
	if a.fd < 0 {
		return
	}
	if a.finishes++; a.rng.IntN(16) != 0 {
		a.finishes--
		a.resets++
		_ = unix.SetsockoptLinger(a.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	_ = unix.Close(a.fd)
	a.fd = -1
}

// send sends one stream, mostly at once, and tells whether it all went.
func (a *attacker) send(stream []byte) bool {
	for len(stream) > 0 {
		n := len(stream)
		if a.rng.IntN(8) == 0 {
			n = 1 + a.rng.IntN(n)
		}
		n, err := unix.SendmsgN(a.fd, stream[:n], nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err != nil {
			return false // held back, or closed already
		}
		stream = stream[n:]
	}
	return true
}

func (a *attacker) run(all [][]byte, streams int) error {
	defer func() { a.hangUp() }()
	var stream []byte
	for range streams {
		if a.fd < 0 {
			if err := a.connect(); err != nil {
				return err
			}
		}
		stream = mutate(a.rng, stream, all[a.rng.IntN(len(all))], all)
		if a.send(stream) && goesOn(stream) {
			a.reused++
		} else {
			a.hangUp()
		}
		a.streams.Add(1)
	}
	return nil
}

// heap is how much memory is in use, in bytes.
func heap() int64 {
	runtime.GC() // objects with finalizers or in pools are freed by the second collection
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// TestMutatedStreams sends a million mutated streams to a live endpoint, while an
// honest peer continues to exchange messages with it.
func TestMutatedStreams(t *testing.T) {
	streams := *mutatedStreams
	switch {
	case testing.Short():
		streams = min(streams, 5_000)
	case race.Enabled:
		streams = min(streams, 20_000)
	}
	const attackers = 4
	seed := sim.Seed(t)
	s := newSiege(t, tcp.Options{EarlyBytes: 16 << 20, HangupTimeout: 500 * time.Millisecond, HeaderTimeout: time.Second})
	var unexpected uint64
	s.victim.taken = func(*bmi.Unexpected) { unexpected++ }
	s.served()
	before, files := heap(), openFiles(t)

	all := capturedStreams(t)
	to := netip.MustParseAddrPort(hostPort(s.address))
	crew := make([]*attacker, attackers)
	errs := make(chan error, attackers)
	var wg sync.WaitGroup
	for i := range crew {
		crew[i] = &attacker{
			rng: rand.New(rand.NewPCG(seed, uint64(i))), fd: -1,
			to: &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()},
		}
		wg.Go(func() { errs <- crew[i].run(all, streams/attackers) })
	}
	began, exchanges, peak, slowest := time.Now(), 0, int64(0), time.Duration(0)
	for ended := 0; ended < attackers; {
		select {
		case err := <-errs:
			require.NoError(t, err, "seed %d", seed)
			ended++
		default:
		}
		start := time.Now()
		s.served()
		slowest = max(slowest, time.Since(start))
		if exchanges++; exchanges%64 == 1 {
			peak = max(peak, heap())
		}
	}
	wg.Wait()
	took := time.Since(began)
	var sent int64
	var resets, finishes, reused int
	for _, a := range crew {
		sent += a.streams.Load()
		resets, finishes, reused = resets+a.resets, finishes+a.finishes, reused+a.reused
	}
	s.victim.until("all strangers are gone, with what they sent", func() bool {
		now := s.victim.stats()
		return now.Connected == 1 && now.Peers == 1 && now.EarlyMessages == 0
	}, s.honest)
	s.served()
	after, stats := heap(), s.victim.stats()
	t.Logf("seed %d: %d mutated streams in %v, %d connections (%d reset, %d finished, %d streams on a connection that went on); "+
		"%d refused, %d unexpected messages, %d others received; heap %d before, at most %d, %d after; "+
		"%d rounds of the honest peer, the slowest took %v",
		seed, sent, took.Round(time.Millisecond), stats.Connects, resets, finishes, reused,
		stats.Errors.Protocol, unexpected, stats.MessagesReceived-unexpected, before, peak, after, exchanges, slowest)
	require.EqualValues(t, streams/attackers*attackers, sent)
	require.Greater(t, stats.Errors.Protocol, uint64(sent/50), "%+v", stats)
	require.NotZero(t, unexpected)
	require.Less(t, after-before, int64(8<<20), "memory stays behind")
	require.Less(t, peak-before, int64(128<<20))
	require.LessOrEqual(t, openFiles(t), files, "descriptors stay behind")
}
