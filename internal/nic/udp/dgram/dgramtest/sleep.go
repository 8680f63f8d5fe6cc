package dgramtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/seamtest"
)

var sleepTests = []test{
	{"Arm refuses while there are arrivals", sleeping(func(t T, w *world, a, b *sock, s dgram.Sleeper) {
		w.quiet(b)
		b.away = true
		a.give(b, w.payload(10))
		w.soon(func() bool {
			ok := s.Arm()
			s.Disarm()
			return !ok
		})
		b.away = false
		w.arrived()
	})},
	{"an arrival ends Sleep", sleeping(func(t T, w *world, a, b *sock, s dgram.Sleeper) {
		other := b.d.socket()
		for i := range sleeps() {
			to := []*sock{b, other}[i%2] // for each socket of the device
			w.quiet(b)
			w.armed(b, s)
			woken := seamtest.Sleep(s, w.s.timeout())
			w.giveAlone(a, to)
			require.Less(t, <-woken, w.s.timeout(), "slept through an arrival")
			s.Disarm()
			w.arrived()
		}
	})},
	{"an arrival between Arm and Sleep", sleeping(func(t T, w *world, a, b *sock, s dgram.Sleeper) {
		for range sleeps() {
			w.quiet(b)
			w.armed(b, s)
			w.giveAlone(a, b)
			require.Less(t, <-seamtest.Sleep(s, w.s.timeout()), w.s.timeout(), "slept through an arrival")
			s.Disarm()
			w.arrived()
		}
	})},
	{"an arrival while awake", sleeping(func(t T, w *world, a, b *sock, s dgram.Sleeper) {
		for range sleeps() {
			w.quiet(b)
			w.giveAlone(a, b) // the device is not armed
			if s.Arm() {
				require.Less(t, <-seamtest.Sleep(s, w.s.timeout()), w.s.timeout(), "slept through an arrival")
			}
			s.Disarm()
			w.arrived()
		}
	})},
	{"room ends Sleep", sleeping(roomEndsSleep)},
	{"Wake ends Sleep", sleeping(func(_ T, w *world, _, b *sock, s dgram.Sleeper) { w.bed(b, s).WakeEndsSleep(sleeps()) })},
	{"Wake before Sleep ends the next one, once", sleeping(func(_ T, w *world, _, b *sock, s dgram.Sleeper) { w.bed(b, s).WakeOnce(3) })},
	{"Sleep ends in time", sleeping(func(t T, w *world, a, b *sock, s dgram.Sleeper) {
		const times = 7
		for _, nap := range []time.Duration{0, time.Microsecond, time.Millisecond, 30 * time.Millisecond} {
			lasted := 0
			for range times {
				w.quiet(b)
				w.armed(b, s)
				took := <-seamtest.Sleep(s, nap)
				assert.Less(t, took, w.s.timeout())
				s.Disarm()
				if took >= nap {
					lasted++
				}
			}
			// It may return for no reason, but not usually. On a busy machine a single Sleep that returns at once may seem to
			// last.
			assert.Greater(t, lasted, times/2, "most of the times Sleep returns before %v have passed", nap)
		}
	})},
	{"the end of the device ends Sleep", sleeping(func(t T, w *world, a, b *sock, s dgram.Sleeper) {
		w.quiet(b)
		w.armed(b, s)
		woken := seamtest.Sleep(s, w.s.timeout())
		require.NoError(t, b.d.Close())
		b.closed = true
		require.Less(t, <-woken, w.s.timeout())
		s.Disarm()
		assert.False(t, s.Arm(), "nothing to wait for")
		require.Less(t, <-seamtest.Sleep(s, w.s.timeout()), w.s.timeout(), "and so it returns at once")
		s.Wake()
		s.Disarm()
	})},
	{"a device without sockets sleeps", sleeping(func(t T, w *world, a, b *sock, _ dgram.Sleeper) {
		s := w.device().Device.(dgram.Sleeper)
		require.True(t, s.Arm())
		woken := seamtest.Sleep(s, w.s.timeout())
		s.Wake()
		require.Less(t, <-woken, w.s.timeout())
		s.Disarm()
	})},
	{"a closed socket is no reason", sleeping(func(t T, w *world, a, b *sock, s dgram.Sleeper) {
		other := b.d.socket()
		other.away = true
		a.give(other, w.payload(10))
		w.soon(func() bool {
			ok := s.Arm()
			s.Disarm()
			return !ok
		})
		other.close()
		clear(w.due)
		w.quiet(b)
		w.armed(b, s)
		s.Disarm()
	})},
	{"many wakers", sleeping(func(_ T, w *world, _, b *sock, s dgram.Sleeper) { w.bed(b, s).ManyWakers() })},
}

// sleeps is how often a test sleeps; each time it first waits until nothing arrives any more.
func sleeps() int {
	if testing.Short() {
		return 5
	}
	return 20
}

// sleeping prepares two sockets; the device of the second one supports sleeping.
func sleeping(fn func(t T, w *world, a, b *sock, s dgram.Sleeper)) func(T, *world) {
	return func(t T, w *world) {
		if w.s.Step != nil {
			t.Skip("nobody sleeps in simulated time")
		}
		a, b := w.pair()
		s, ok := b.d.Device.(dgram.Sleeper)
		if !ok {
			t.Skip("the device is no Sleeper")
		}
		a.give(b, w.payload(10))
		w.arrived()
		fn(t, w, a, b, s)
	}
}

// quiet receives until nothing comes any more.
func (w *world) quiet(s *sock) {
	w.settle()
	for s.drain() > 0 {
		continue
	}
}

// bed returns the seamtest helper for a sleeper.
func (w *world) bed(b *sock, s dgram.Sleeper) *seamtest.Bed {
	return &seamtest.Bed{T: w.t, Sleeper: s, Timeout: w.s.timeout(), Poll: func() { b.drain() }, Quiet: func() { w.quiet(b) }}
}

// armed arms, and handles late arrivals.
func (w *world) armed(b *sock, s dgram.Sleeper) { w.bed(b, s).Arm() }

// soon repeats without sleeping.
func (w *world) soon(done func() bool) { seamtest.Soon(w.t, w.s.timeout(), done) }

// giveAlone sends without receiving on the other side.
func (w *world) giveAlone(from, to *sock) {
	batch := []dgram.Packet{from.packet(to, w.payload(10))}
	w.soon(func() bool { return from.try(batch) == 1 })
}

// roomEndsSleep tests an owner that sleeps after ErrAgain.
func roomEndsSleep(t T, w *world, a, b *sock, s dgram.Sleeper) {
	a.away, b.away = true, true
	if !fill(b, a) {
		t.Skip("the device always has room")
	}
	for range sleeps() {
		w.soon(func() bool {
			if !s.Arm() { // there was room by then
				s.Disarm()
				return !fill(b, a)
			}
			start := time.Now()
			s.Sleep(w.s.timeout())
			s.Disarm()
			require.Less(t, time.Since(start), w.s.timeout(), "slept through room")
			return true
		})
		if b.try([]dgram.Packet{one(a)}) == 1 && !fill(b, a) {
			break
		}
	}
	b.away = false
	w.recover(b, a)
}
