package progress

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Monitor ensures that at most one goroutine at a time polls and sleeps on behalf of all that wait in an endpoint. The others
// block, each on its own channel, until a wake-up, or until the monitor is free and another goroutine must take over.
//
// No wake-up is lost, for this reason. A waiter registers, then checks its condition once more under the engine lock, then blocks.
// A goroutine that changes a condition does so under the engine lock and then looks for registered waiters. So one of the two always
// sees the other. In the same way a waiter registers and then checks whether the monitor is held, and the holder frees it and then
// looks for registered waiters. A wake-up that comes before the waiter blocks stays in its channel. A woken waiter that does not
// need the monitor passes the wake-up on when it leaves.
type Monitor struct {
	cfg     Config
	start   time.Time
	spinner spinner
	counts  counts

	engines  atomic.Pointer[[]*Engine] // grows only, by copy
	watchers sync.WaitGroup
	ended    atomic.Bool // by End

	held atomic.Bool // a goroutine polls and sleeps for all others
	mu   sync.Mutex
	all  waiterSet    // registered
	n    atomic.Int32 // how many
}

// Config configures a Monitor.
type Config struct {
	// Clock is the clock of the methods' deadlines.
	Clock func() time.Duration
	// SpinMax is the longest time to poll before sleeping.
	SpinMax time.Duration
	// Manual: the program polls, and nothing happens in the background. Wait is not called.
	Manual bool
}

// Init prepares a Monitor.
func (m *Monitor) Init(cfg Config) {
	m.cfg, m.start = cfg, time.Now()
	m.engines.Store(new([]*Engine))
	m.spinner.Init(cfg.SpinMax)
}

// Now is the time since Init.
func (m *Monitor) Now() time.Duration { return time.Since(m.start) }

// Add adds a method under the next index. The caller holds its engine lock, and only one call of Add runs at a time. sleeper and
// deadliner may be nil. From now on, waits check their conditions for this method, too.
func (m *Monitor) Add(e *Engine, method Method, sleeper Sleeper, deadliner Deadliner) {
	old := *m.engines.Load()
	e.monitor, e.index = m, len(old)
	e.method, e.sleeper, e.deadliner = method, sleeper, deadliner
	if !m.cfg.Manual {
		e.watcher = newWatcher(e)
	}
	e.added.Store(true)
	all := append(old[:len(old):len(old)], e)
	m.engines.Store(&all)
	if e.watcher != nil {
		m.watchers.Go(e.watcher.run)
	}
	m.WakeAll() // waiters that sleep on the other methods do not notice this one
}

// End ends all waits, and lets the watchers end.
func (m *Monitor) End() {
	m.ended.Store(true)
	for _, e := range *m.engines.Load() {
		if e.watcher != nil {
			e.watcher.stop()
		}
	}
	m.WakeAll()
}

// WaitForWatchers waits after End until the watchers have ended, or until ctx ends because one of them polls a method that does not
// return in time.
func (m *Monitor) WaitForWatchers(ctx context.Context) {
	gone := make(chan struct{})
	go func() {
		m.watchers.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// Close ends the last waits. No method is polled any more.
func (m *Monitor) Close() {
	m.WakeAll()
}

// Wake makes one waiter check its condition again.
func (m *Monitor) Wake(w *Waiter) {
	select {
	case w.ch <- struct{}{}:
		m.counts.wakes.Add(1)
	default:
	}
	if e := w.sleepsOn.Load(); e != nil {
		e.sleeper.Wake()
	}
}

// Cancel ends the waits of one waiter, until Uncancel.
func (m *Monitor) Cancel(w *Waiter) {
	w.cancelled.Store(true)
	m.Wake(w)
}

// WakeList makes all waiters of a list check their conditions again.
func (m *Monitor) WakeList(l *List) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range l.all {
		m.Wake(w)
	}
}

// WakeAll makes all waiters check their conditions again.
func (m *Monitor) WakeAll() {
	if m.n.Load() == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.all {
		m.Wake(w)
	}
}

// handOver wakes one waiter if no goroutine holds the monitor.
func (m *Monitor) handOver() {
	if m.n.Load() == 0 || m.held.Load() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) > 0 {
		m.Wake(m.all[0])
	}
}

// register makes a waiter visible to goroutines that wake waiters. e is the method that it is going to sleep on, or nil.
func (m *Monitor) register(w *Waiter, l *List, e *Engine) {
	w.sleepsOn.Store(e)
	w.registered.Store(true)
	m.mu.Lock()
	m.all.add(w, 0)
	m.n.Add(1)
	if l != nil {
		l.all.add(w, 1)
		l.n.Add(1)
	}
	m.mu.Unlock()
}

func (m *Monitor) unregister(w *Waiter, l *List) {
	m.mu.Lock()
	m.all.remove(w, 0)
	m.n.Add(-1)
	if l != nil {
		l.all.remove(w, 1)
		l.n.Add(-1)
	}
	m.mu.Unlock()
	w.registered.Store(false)
	w.sleepsOn.Store(nil)
}

// StopWatchers ends the watchers and waits for them, so that a test sees what goroutines do for each other without them.
func (m *Monitor) StopWatchers() {
	for _, e := range *m.engines.Load() {
		e.watcher.stop()
	}
	m.watchers.Wait()
}
