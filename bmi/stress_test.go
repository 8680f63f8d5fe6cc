package bmi_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// rounds is smaller in -short runs.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// inTime fails the test, with all goroutines' stacks, if the group hangs.
func inTime(t *testing.T, all *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		panic("hung: a wake-up was lost")
	}
}

// Every message is answered, and every wait has no limit: one lost wake-up and
// the test hangs. Goroutines share contexts, so that completions are found by
// goroutines other than the waiting ones, and the monitor changes hands all the
// time.
func TestNoWakeUpIsLost(t *testing.T) {
	for _, tc := range []struct {
		name      string
		spin      time.Duration
		noSleeper bool
		alone     bool // without the background goroutines
		contexts  int
		group     int
	}{
		{"spinning", 0, false, false, 2, 4},
		{"never spinning", -1, false, false, 2, 4},
		{"one context", -1, false, false, 1, 8},
		{"on a timer", -1, true, false, 2, 2},
		{"no background, spinning", 0, false, true, 2, 4},
		{"no background, one context", -1, false, true, 1, 8},
		{"no background, a context each", -1, false, true, 6, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.cfg.SpinMax, w.opt.NoSleeper = tc.spin, tc.noSleeper
			n := rounds(5000)
			if tc.noSleeper {
				n /= 50
			}
			a, b := w.pair()
			if tc.alone {
				a.ep.StopWatchers()
				b.ep.StopWatchers()
			}
			var all sync.WaitGroup
			for c := range tc.contexts {
				ca, cb := a.fork(), b.fork()
				for g := range tc.group {
					tag := bmi.Tag(c*100 + g)
					all.Go(func() { ca.pingPong(tag, n, true) })
					all.Go(func() { cb.pingPong(tag, n, false) })
				}
			}
			inTime(t, &all)
		})
	}
}

// fork is the same side with its own context.
func (s *side) fork() *side {
	s.t.Helper()
	c, err := s.ep.OpenContext()
	require.NoError(s.t, err)
	return &side{s.t, s.ep, c, s.peer}
}

// pingPong sends a counter to and fro, and waits in turn by Test, by TestSome
// and by a blocking helper.
func (s *side) pingPong(tag bmi.Tag, n int, first bool) {
	var send, recv [4]byte
	for i := range n {
		binary.LittleEndian.PutUint32(send[:], uint32(i))
		post := func() {
			p, err := s.ctx.PostSend(s.peer, tag, send[:], nil)
			if !assert.NoError(s.t, err) || !assert.True(s.t, p.Done) {
				return
			}
		}
		if first {
			post()
		}
		if err := s.recvSomehow(i, tag, recv[:]); !assert.NoError(s.t, err) {
			return
		}
		if !assert.EqualValues(s.t, i, binary.LittleEndian.Uint32(recv[:])) {
			return
		}
		if !first {
			post()
		}
	}
}

func (s *side) recvSomehow(i int, tag bmi.Tag, buf []byte) error {
	if i%3 == 0 {
		_, err := s.ctx.Recv(context.Background(), s.peer, tag, buf)
		return err
	}
	p, err := s.ctx.PostRecv(s.peer, tag, buf, nil)
	if err != nil || p.Done {
		return err
	}
	var out [1]bmi.Completion
	if i%3 == 1 {
		out[0], _, err = s.ctx.Test(p.Op, bmi.Forever)
	} else {
		_, err = s.ctx.TestSome([]bmi.OpID{p.Op}, out[:], bmi.Forever)
	}
	if err != nil {
		return err
	}
	return out[0].Err
}

// Waits that end by time-out, by cancel and by completion, all at once: every
// posted operation is returned exactly once.
func TestExactlyOnce(t *testing.T) {
	seed := sim.Seed(t)
	w := newWorld(t)
	w.opt.EarlyMessages = 1 << 20 // many receives are cancelled before their message comes
	a, b := w.pair()
	var all sync.WaitGroup
	for g := range 4 {
		s := a.fork()
		rnd := rand.New(rand.NewPCG(seed, uint64(g)))
		all.Go(func() {
			pending := map[bmi.OpID]any{}
			out := make([]bmi.Completion, 3)
			take := func(n int) {
				for _, c := range out[:n] {
					user, mine := pending[c.Op]
					assert.True(t, mine, "returned twice, or another context's")
					assert.Equal(t, user, c.User)
					delete(pending, c.Op)
				}
			}
			for i := range rounds(3000) {
				p, err := s.ctx.PostRecv(s.peer, bmi.Tag(g), nil, i)
				if !assert.NoError(t, err) {
					return
				}
				if !p.Done {
					pending[p.Op] = i
				}
				switch rnd.IntN(4) {
				case 0:
					for id := range pending {
						assert.NoError(t, s.ctx.Cancel(id))
						break
					}
				case 1:
					n, err := s.ctx.TestContext(out, time.Duration(rnd.IntN(100))*time.Microsecond)
					assert.NoError(t, err)
					take(n)
				}
			}
			for id := range pending {
				assert.NoError(t, s.ctx.Cancel(id))
			}
			for len(pending) > 0 {
				n, err := s.ctx.TestContext(out, limit)
				if !assert.NoError(t, err) || !assert.NotZero(t, n) {
					return
				}
				take(n)
			}
		})
		peer := b.fork()
		all.Go(func() {
			for range rounds(2000) {
				if err := peer.ctx.Send(context.Background(), peer.peer, bmi.Tag(g), nil); !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	inTime(t, &all)
}

// Many senders flood queue and handler against small limits.
func TestUnexpectedFlood(t *testing.T) {
	w := newWorld(t)
	w.cfg.Limits.UnexpectedMessages = 4
	a := w.open("a")
	n, senders := rounds(1000), 4
	handled := make(chan string, 1)
	require.NoError(t, a.Handle(1, func(m bmi.Message) { handled <- fmt.Sprint(m.From, m.Tag) }))
	var all sync.WaitGroup
	for i := range senders {
		s := w.side(w.open(fmt.Sprintf("s%d", i)), "a")
		all.Go(func() {
			for k := range n {
				err := s.ctx.SendUnexpected(context.Background(), s.peer, bmi.Class(k%2), bmi.Tag(k), nil)
				if !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	all.Go(func() {
		seen := map[string]bool{}
		for range n / 2 * senders {
			m := <-handled
			assert.False(t, seen[m], "handled twice")
			seen[m] = true
		}
	})
	all.Go(func() {
		next := map[bmi.Addr]bmi.Tag{}
		out := make([]bmi.Unexpected, 3)
		for got := 0; got < n/2*senders; {
			m, err := a.TestUnexpected(out, limit)
			if !assert.NoError(t, err) || !assert.NotZero(t, m) {
				return
			}
			for i := range out[:m] {
				assert.Equal(t, next[out[i].From], out[i].Tag, "in order for each sender")
				next[out[i].From] += 2
				out[i].Release()
			}
			got += m
		}
	})
	inTime(t, &all)
}

// Contexts and endpoints come and go while others work.
func TestClosingUnderLoad(t *testing.T) {
	w := newWorld(t)
	b := w.side(w.open("b"), "a0")
	for round := range rounds(30) {
		name := fmt.Sprintf("a%d", round)
		a := w.side(w.open(name), "b")
		back, err := b.ep.Lookup("mem://" + name)
		require.NoError(t, err)
		var all sync.WaitGroup
		for g := range 3 {
			s := a.fork()
			all.Go(func() {
				for {
					_, err := s.ctx.PostRecv(s.peer, bmi.Tag(g), nil, nil)
					if err == nil {
						_, err = s.ctx.TestContext(make([]bmi.Completion, 1), bmi.Forever)
					}
					if err != nil {
						assert.ErrorIs(t, err, bmi.ErrClosed)
						return
					}
				}
			})
			all.Go(func() {
				for {
					if b.ctx.Send(context.Background(), back, bmi.Tag(g), nil) != nil {
						return
					}
				}
			})
		}
		short := a.fork()
		_, err = short.ctx.PostRecv(a.peer, 99, nil, nil)
		require.NoError(t, err)
		require.NoError(t, short.ctx.Close())
		require.NoError(t, a.ep.Close())
		inTime(t, &all)
		require.NoError(t, b.ep.DropAddr(back))
	}
}
