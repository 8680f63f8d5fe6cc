package stacktest

import (
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/seamtest"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

var sleepTests = []test{
	{"Arm refuses while there are events", sleeping(func(t T, w *world, a, b *end, s stack.Sleeper) {
		w.quiet(b.n)
		w.gives(a, 0, 10)
		w.soon(func() bool {
			ok := s.Arm()
			s.Disarm()
			return !ok
		})
		w.takes(b, 0, 10)
	})},
	{"an arrival ends Sleep", sleeping(func(t T, w *world, a, b *end, s stack.Sleeper) {
		for range 20 {
			w.quiet(b.n)
			w.armed(b.n, s)
			woken := seamtest.Sleep(s, w.s.timeout())
			w.giveAlone(a, 10)
			require.Less(t, <-woken, w.s.timeout(), "slept through an arrival")
			s.Disarm()
			w.takes(b, 0, 10)
		}
	})},
	{"an arrival between Arm and Sleep", sleeping(func(t T, w *world, a, b *end, s stack.Sleeper) {
		for range 20 {
			w.quiet(b.n)
			w.armed(b.n, s)
			w.giveAlone(a, 10)
			w.soon(func() bool {
				a.n.poll()
				return a.stream.Delivered()
			})
			require.Less(t, <-seamtest.Sleep(s, w.s.timeout()), w.s.timeout(), "slept through an arrival")
			s.Disarm()
			w.takes(b, 0, 10)
		}
	})},
	{"a connection ends Sleep", sleeping(func(t T, w *world, a, b *end, s stack.Sleeper) {
		l := b.n.listen()
		w.quiet(b.n)
		w.armed(b.n, s)
		woken := seamtest.Sleep(s, w.s.timeout())
		a.n.dial(l.listener.Addr())
		require.Less(t, <-woken, w.s.timeout(), "slept through a connection")
		s.Disarm()
		w.until("accepted", func() bool { return l.accept() != nil })
	})},
	{"the other side's end ends Sleep", sleeping(func(t T, w *world, a, b *end, s stack.Sleeper) {
		w.quiet(b.n)
		w.armed(b.n, s)
		woken := seamtest.Sleep(s, w.s.timeout())
		a.close()
		require.Less(t, <-woken, w.s.timeout(), "slept through the end")
		s.Disarm()
		require.Error(t, w.ends(b))
	})},
	{"Wake ends Sleep", sleeping(func(_ T, w *world, _, b *end, s stack.Sleeper) { w.bed(b.n, s).WakeEndsSleep(50) })},
	{"Wake before Sleep ends the next one, once", sleeping(func(_ T, w *world, _, b *end, s stack.Sleeper) { w.bed(b.n, s).WakeOnce(1) })},
	{"Sleep ends in time", sleeping(func(t T, w *world, a, b *end, s stack.Sleeper) {
		for _, nap := range []time.Duration{0, time.Microsecond, time.Millisecond, 30 * time.Millisecond} {
			w.quiet(b.n)
			w.armed(b.n, s)
			took := <-seamtest.Sleep(s, nap)
			assert.GreaterOrEqual(t, took, nap)
			assert.Less(t, took, w.s.timeout())
			s.Disarm()
		}
	})},
	{"others poll while one sleeps", sleeping(pollWhileAsleep)},
	{"many wakers", sleeping(func(_ T, w *world, _, b *end, s stack.Sleeper) { w.bed(b.n, s).ManyWakers() })},
}

// sleeping prepares a connection whose accepted side can sleep, and on which nothing happens.
func sleeping(fn func(t T, w *world, a, b *end, s stack.Sleeper)) func(T, *world) {
	return func(t T, w *world) {
		if w.s.Step != nil {
			t.Skip("nobody sleeps in simulated time")
		}
		a, b := w.pair()
		s, ok := b.n.stack.(stack.Sleeper)
		if !ok {
			t.Skip("the stack is no Sleeper")
		}
		w.moves(a, b, 10)
		w.settle()
		fn(t, w, a, b, s)
	}
}

// quiet takes the pending events. Nothing else is under way in these tests.
func (w *world) quiet(n *node) {
	for n.poll() > 0 {
		continue
	}
}

// bed returns the seamtest helper for a sleeper.
func (w *world) bed(n *node, s stack.Sleeper) *seamtest.Bed {
	return &seamtest.Bed{T: w.t, Sleeper: s, Timeout: w.s.timeout(), Poll: func() { n.poll() }, Quiet: func() { w.quiet(n) }}
}

// armed arms, and handles late events.
func (w *world) armed(n *node, s stack.Sleeper) { w.bed(n, s).Arm() }

// soon repeats without sleeping.
func (w *world) soon(done func() bool) { seamtest.Soon(w.t, w.s.timeout(), done) }

// giveAlone sends without a poll by the other side's owner.
func (w *world) giveAlone(e *end, count int) {
	b := make([]byte, count)
	fill(b, 0)
	for deadline := time.Now().Add(w.s.timeout()); len(b) > 0; {
		e.n.poll()
		n, err := e.send1(b)
		require.NoError(w.t, err)
		b = b[n:]
		require.True(w.t, time.Now().Before(deadline), "Send takes nothing")
	}
}

// pollWhileAsleep takes arrivals that would wake the sleeper. The sleeping
// goroutine then finds them taken, and sleeps again or returns, but nothing is
// lost.
func pollWhileAsleep(t T, w *world, a, b *end, s stack.Sleeper) {
	for range 50 {
		w.quiet(b.n)
		w.armed(b.n, s)
		woken := seamtest.Sleep(s, w.s.timeout())
		w.gives(a, 0, 100)
		w.takes(b, 0, 100)
		s.Wake()
		require.Less(t, <-woken, w.s.timeout())
		s.Disarm()
	}
}
