package progress

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// slots is a method like that of shared memory: a message arrives by a store to its slot, and the sender rings the bell if the
// receiver has requested it.
type slots struct {
	Engine
	arrived []atomic.Bool
	ring    atomic.Bool // the owner asks for the bell
	bell    chan struct{}

	// Guarded by the engine lock.
	done     []bool
	list     *List // of the waiters for done
	deadline time.Duration
	refuses  bool // Arm reports false
	armed    int
	polled   func()

	asleep atomic.Int32
}

func newSlots(n int) *slots {
	return &slots{arrived: make([]atomic.Bool, n), done: make([]bool, n), bell: make(chan struct{}, 1), list: new(List), deadline: -1}
}

// send delivers message i.
func (s *slots) send(i int) {
	s.arrived[i].Store(true)
	if s.ring.Load() {
		s.Wake()
	}
}

func (s *slots) Poll() bool {
	moved := false
	for i := range s.arrived {
		if s.arrived[i].Load() && !s.done[i] {
			s.done[i], moved = true, true
		}
	}
	if s.polled != nil {
		s.polled()
	}
	if moved && s.list.Waiting() {
		s.monitor.WakeList(s.list)
	}
	return moved
}

func (s *slots) Arm() bool {
	s.armed++
	if s.refuses {
		return false
	}
	s.ring.Store(true)
	for i := range s.arrived {
		if s.arrived[i].Load() && !s.done[i] {
			return false
		}
	}
	return true
}

func (s *slots) Disarm() { s.ring.Store(false) }

func (s *slots) Sleep(timeout time.Duration) {
	s.asleep.Add(1)
	defer s.asleep.Add(-1)
	var over <-chan time.Time
	if timeout >= 0 {
		over = time.After(timeout)
	}
	select {
	case <-s.bell:
	case <-over:
	}
}

func (s *slots) Wake() {
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

func (s *slots) NextDeadline() (time.Duration, bool) { return s.deadline, s.deadline >= 0 }

// A world is a monitor with some methods.
type world struct {
	Monitor
	t   *testing.T
	all []*slots
}

// newWorld has methods with n slots each; sleep says whether they can be slept on.
func newWorld(t *testing.T, methods, n int, sleep bool, cfg Config) *world {
	w := &world{t: t}
	start := time.Now()
	cfg.Clock = func() time.Duration { return time.Since(start) }
	w.Init(cfg)
	for range methods {
		s := newSlots(n)
		w.all = append(w.all, s)
		s.Lock()
		if sleep {
			w.Add(&s.Engine, s, s, s)
		} else {
			w.Add(&s.Engine, s, nil, nil)
		}
		s.Unlock()
	}
	t.Cleanup(func() {
		w.End()
		w.watchers.Wait()
		w.Close()
	})
	return w
}

// done is the condition that message i of a method was received.
func (w *world) done(method, i int) Condition {
	return func(index, polls int) (met, moved bool) {
		s := w.all[index]
		for {
			if index == method && s.done[i] {
				return true, moved
			}
			if polls--; polls < 0 {
				return false, moved
			}
			if moved = s.poll() || moved; s.EndBurst() {
				polls = 0
			}
		}
	}
}

// within fails the test if f does not return.
func (w *world) within(f func()) {
	w.t.Helper()
	returned := make(chan struct{})
	go func() {
		f()
		close(returned)
	}()
	select {
	case <-returned:
	case <-time.After(wallclock.Patience):
		w.t.Fatal("a goroutine waits for ever")
	}
}

// until waits for an event.
func (w *world) until(happened func() bool) {
	w.t.Helper()
	require.Eventually(w.t, happened, wallclock.Patience, time.Millisecond)
}

// TestNoWakeUpIsLost: a goroutine returns when its message arrives, although other goroutines wait for other messages.
func TestNoWakeUpIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		methods         int
		sleep, watchers bool
	}{
		"one method":          {1, true, true},
		"without watchers":    {1, true, false},
		"several methods":     {3, true, true},
		"nothing to sleep on": {1, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			const callers, rounds = 4, 50
			w := newWorld(t, c.methods, callers, c.sleep, Config{SpinMax: 20 * time.Microsecond})
			if !c.watchers {
				w.StopWatchers()
			}
			w.within(func() {
				var all sync.WaitGroup
				for i := range callers {
					arrives := make(chan struct{}, 1)
					method := i % c.methods
					rng := rand.New(rand.NewPCG(uint64(i), 1))
					all.Go(func() { // a sender
						for range arrives {
							for range rng.IntN(2000) {
								_ = rng.Uint64() // at any time
							}
							w.all[method].send(i)
						}
					})
					all.Go(func() {
						defer close(arrives)
						s := w.all[method]
						for range rounds {
							arrives <- struct{}{}
							for !w.Wait(w.done(method, i), s.list, nil, -1) {
							}
							s.Lock()
							s.done[i] = false
							s.arrived[i].Store(false)
							s.Unlock()
						}
					})
				}
				all.Wait()
			})
		})
	}
}

// TestBlockLooksAtTheMonitorAgain: the last step of the monitor's protocol. The holder may have left just before the waiter registered, so
// the waiter checks again instead of blocking.
func TestBlockLooksAtTheMonitorAgain(t *testing.T) {
	w := newWorld(t, 1, 1, true, Config{})
	waiter := new(Waiter)
	waiter.Init()
	w.within(func() { assert.False(t, w.block(w.done(0, 0), w.all[0].list, waiter, -1)) })
}

// TestHandOver: when the holder of the monitor leaves, another waiter sleeps on the method instead.
func TestHandOver(t *testing.T) {
	w := newWorld(t, 1, 2, true, Config{})
	w.StopWatchers()
	s := w.all[0]
	w.within(func() {
		var all sync.WaitGroup
		for i := range 2 {
			all.Go(func() { assert.True(t, w.Wait(w.done(0, i), s.list, nil, -1)) })
		}
		w.until(func() bool { return w.n.Load() == 2 && s.asleep.Load() > 0 })
		s.send(0)
		s.send(1)
		all.Wait()
	})
}

// TestWaitsEnd: a wait ends at its time, when it is cancelled, and when the monitor ends; not because of a wake-up.
func TestWaitsEnd(t *testing.T) {
	w := newWorld(t, 1, 1, true, Config{})
	s := w.all[0]
	w.within(func() { assert.False(t, w.Wait(w.done(0, 0), s.list, nil, time.Millisecond)) })

	waiter := new(Waiter)
	waiter.Init()
	w.Cancel(waiter)
	w.within(func() { assert.False(t, w.Wait(w.done(0, 0), nil, waiter, -1), "cancelled before the wait") })
	waiter.Uncancel()
	returned := make(chan bool)
	wait := func() { returned <- w.Wait(w.done(0, 0), nil, waiter, -1) }
	go wait()
	w.until(func() bool { return waiter.Registered() })
	w.WakeAll()
	w.Cancel(waiter)
	w.within(func() { assert.False(t, <-returned) })

	waiter.Reset()
	go wait()
	w.until(func() bool { return waiter.Registered() })
	w.End()
	w.within(func() { assert.False(t, <-returned) })
	w.within(func() { assert.False(t, w.Wait(w.done(0, 0), nil, nil, -1), "after the end") })
}

// TestRefusedSleep: a method that refuses to be slept on does not keep its caller polling. The watcher polls it now and then.
func TestRefusedSleep(t *testing.T) {
	w := newWorld(t, 1, 1, true, Config{SpinMax: -1})
	s := w.all[0]
	s.Lock()
	s.refuses = true
	s.Unlock()
	returned := make(chan bool)
	go func() { returned <- w.Wait(w.done(0, 0), s.list, nil, -1) }()
	w.until(func() bool { return w.spinner.relying.Load() > 0 })
	s.send(0)
	w.within(func() { assert.True(t, <-returned) })
}

// TestEarlierDeadline: Unlock wakes a goroutine that would sleep beyond a deadline which the method has got meanwhile.
func TestEarlierDeadline(t *testing.T) {
	w := newWorld(t, 1, 1, true, Config{})
	w.StopWatchers()
	s := w.all[0]
	returned := make(chan bool)
	go func() { returned <- w.Wait(w.done(0, 0), s.list, nil, -1) }()
	w.until(func() bool { return s.asleep.Load() > 0 })
	s.Lock()
	s.deadline = 0
	s.polled = func() { s.done[0], s.deadline = true, -1 } // as a retry would
	s.Unlock()
	w.within(func() { assert.True(t, <-returned) })
}

// TestPausedPolls: nothing polls or sleeps on a method while its polls are paused, or after it has closed.
func TestPausedPolls(t *testing.T) {
	w := newWorld(t, 1, 1, true, Config{})
	s := w.all[0]
	s.Lock()
	s.PausePolls()
	assert.True(t, s.EndBurst())
	polls, armed := s.Polls(), s.armed
	s.Unlock()
	s.send(0)
	assert.False(t, w.Wait(w.done(0, 0), s.list, nil, 20*time.Millisecond))
	s.Lock()
	assert.Equal(t, polls, s.Polls())
	assert.Equal(t, armed, s.armed)
	s.ResumePolls()
	assert.False(t, s.PollsPaused())
	s.SetClosed()
	s.Unlock()
	assert.False(t, w.Wait(w.done(0, 0), s.list, nil, 20*time.Millisecond))
	s.Lock()
	assert.Equal(t, polls, s.Polls())
	_, has := s.Engine.NextDeadline()
	assert.False(t, has)
	s.closed = false
	s.Unlock()
	assert.True(t, w.Wait(w.done(0, 0), s.list, nil, -1))
}

// TestTheWatcherDrives: a message takes effect although no goroutine waits.
func TestTheWatcherDrives(t *testing.T) {
	for name, sleep := range map[string]bool{"asleep": true, "on a timer": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, 1, sleep, Config{})
			s := w.all[0]
			s.send(0)
			if !sleep {
				s.Engine.Wake()
			}
			w.until(func() bool {
				s.Lock()
				defer s.Unlock()
				return s.done[0]
			})
		})
	}
}

// TestTheWatcherLeaves: once the application polls, the watcher no longer asks for the bell, so senders need not ring it.
func TestTheWatcherLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, 1, true, Config{})
		s := w.all[0]
		time.Sleep(time.Second)
		require.True(t, s.ring.Load(), "nobody polls, so the watcher watches")
		rung := 0
		for range 1000 {
			s.Lock()
			s.poll()
			s.Unlock()
			if s.ring.Load() {
				rung++
				s.Wake()
			}
			time.Sleep(restFirst / 4)
		}
		assert.Equal(t, 1, rung)
		time.Sleep(time.Second)
		assert.True(t, s.ring.Load(), "nobody polls any more")
	})
}

// TestManual: without a watcher, nothing but a poll of the program moves.
func TestManual(t *testing.T) {
	w := newWorld(t, 1, 1, false, Config{Manual: true})
	s := w.all[0]
	s.Engine.Wake()
	s.send(0)
	s.Lock()
	defer s.Unlock()
	require.Zero(t, s.Polls())
	require.True(t, s.poll())
	require.True(t, s.done[0])
}

// TestCounts: sleeps and wake-ups are counted.
func TestCounts(t *testing.T) {
	w := newWorld(t, 1, 1, true, Config{SpinMax: -1})
	s := w.all[0]
	returned := make(chan bool)
	go func() { returned <- w.Wait(w.done(0, 0), s.list, nil, -1) }()
	w.until(func() bool { return s.asleep.Load() > 0 })
	w.until(func() bool {
		w.WakeAll() // it checks its condition, and sleeps again
		c := w.Counts()
		return c.Sleeps > 0 && c.Wakes > 0
	})
	s.send(0)
	w.within(func() { assert.True(t, <-returned) })
	spinsLost := w.Counts().SpinsLost
	assert.Zero(t, spinsLost)
}

func TestWaiterSet(t *testing.T) {
	var s waiterSet
	ws := make([]*Waiter, 5)
	for i := range ws {
		ws[i] = new(Waiter)
		s.add(ws[i], 1)
	}
	for _, i := range []int{2, 4, 0} {
		s.remove(ws[i], 1)
	}
	assert.ElementsMatch(t, []*Waiter{ws[1], ws[3]}, s)
	s.remove(ws[3], 1)
	s.remove(ws[1], 1)
	assert.Empty(t, s)
}
