package progress

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Method is what an Engine polls.
type Method interface {
	// Poll makes progress without blocking, and reports whether anything happened. The engine lock is held.
	Poll() bool
}

// A Sleeper is a method that a goroutine can sleep on. Package bmi defines the calls.
type Sleeper interface {
	Arm() bool
	Disarm()
	Sleep(timeout time.Duration)
	Wake()
}

// A Deadliner is a method that wants to be polled at certain times, in terms of Config.Clock.
type Deadliner interface {
	NextDeadline() (at time.Duration, ok bool)
}

// An Engine is one method of an endpoint, as something to poll and to sleep on. Its lock, the engine lock, serialises all calls
// to the method. Before Monitor.Add there is only the lock.
type Engine struct {
	mu     sync.Mutex
	wanted atomic.Int32 // goroutines that wait for mu

	// Set by Add.
	monitor   *Monitor
	index     int // in the order of Add
	method    Method
	sleeper   Sleeper     // nil: nothing can sleep on the method
	deadliner Deadliner   // nil: the method has no deadlines
	watcher   *watcher    // nil if Config.Manual
	added     atomic.Bool // tells Wake that the fields above are set

	// Guarded by the engine lock.
	polls  uint64
	paused int  // PausePolls without ResumePolls
	closed bool // the method is not called any more
	// asleep: a goroutine is between Arm and Disarm, until sleepUntil (in terms of Config.Clock; < 0: no limit).
	asleep     bool
	sleepUntil time.Duration

	// sleepMu is held from Arm to Disarm, by the one caller that sleeps or by the watcher. sleepWanted asks the watcher to
	// release it.
	sleepMu     sync.Mutex
	sleepWanted atomic.Bool
}

// Lock takes the engine lock.
func (e *Engine) Lock() {
	if !e.mu.TryLock() {
		e.lockLater()
	}
}

// TryLock takes the engine lock if it is free.
func (e *Engine) TryLock() bool { return e.mu.TryLock() }

// lockLater waits for the engine lock, and makes a goroutine that polls release it soon.
func (e *Engine) lockLater() {
	e.wanted.Add(1)
	e.mu.Lock()
	e.wanted.Add(-1)
}

// Unlock releases the engine lock. It first wakes a sleeper that would otherwise sleep beyond a deadline of the method.
func (e *Engine) Unlock() {
	if e.asleep {
		e.sleepLess()
	}
	e.mu.Unlock()
}

// UnlockUnused releases the engine lock for a holder that has not called the method. So the method has no new deadline.
func (e *Engine) UnlockUnused() { e.mu.Unlock() }

// sleepLess wakes the sleeper if the method has a deadline before it would wake up.
func (e *Engine) sleepLess() {
	if at, ok := e.NextDeadline(); ok && (e.sleepUntil < 0 || at < e.sleepUntil) {
		e.sleepUntil = at
		e.sleeper.Wake()
	}
}

// BeginPoll reports whether the method may be polled now, and counts the poll. The engine lock is held.
func (e *Engine) BeginPoll() bool {
	if e.paused > 0 || e.closed {
		return false
	}
	e.polls++
	return true
}

// poll polls the method, if that is possible now.
func (e *Engine) poll() bool { return e.BeginPoll() && e.method.Poll() }

// EndBurst reports whether a goroutine that polls repeatedly must release the engine lock: another one waits for it, or the
// method cannot be polled now.
func (e *Engine) EndBurst() bool { return e.wanted.Load() != 0 || e.paused > 0 }

// PausePolls prevents polls although the engine lock is free, until ResumePolls: a method is polled by one goroutine at a time, and
// that one is in the middle of a call of the method. The engine lock is held, here and in the calls below.
func (e *Engine) PausePolls() { e.paused++ }

// ResumePolls undoes one PausePolls.
func (e *Engine) ResumePolls() { e.paused-- }

// PollsPaused reports whether PausePolls prevents polls.
func (e *Engine) PollsPaused() bool { return e.paused > 0 }

// SetClosed says that the method is not called any more.
func (e *Engine) SetClosed() { e.closed = true }

// IsClosed reports whether SetClosed was called.
func (e *Engine) IsClosed() bool { return e.closed }

// Polls is how often the method was polled.
func (e *Engine) Polls() uint64 { return e.polls }

// NextDeadline is the next time at which the method wants to be polled, if it has one.
func (e *Engine) NextDeadline() (at time.Duration, ok bool) {
	if e.deadliner == nil || e.closed {
		return 0, false
	}
	return e.deadliner.NextDeadline()
}

// Wake makes the method be polled soon. Any goroutine may call it, without the engine lock and even before Add.
func (e *Engine) Wake() {
	switch {
	case !e.added.Load(): // nothing sleeps on it yet
	case e.sleeper != nil:
		e.sleeper.Wake()
	case e.watcher != nil:
		e.watcher.pollSoon()
	}
}

// TakeSleep takes the right to sleep on the method, if need be from its watcher. It is called without the engine lock, and by one
// waiter at a time.
func (e *Engine) TakeSleep() {
	if e.sleepMu.TryLock() {
		return
	}
	e.sleepWanted.Store(true)
	if e.sleeper != nil {
		e.sleeper.Wake()
	}
	e.sleepMu.Lock()
	e.sleepWanted.Store(false)
}

// GiveSleep gives back the right to sleep.
func (e *Engine) GiveSleep() {
	e.sleepMu.Unlock()
	if e.watcher != nil {
		e.watcher.sleepGiven()
	}
}

// armLocked prepares a sleep on the method. It reports false if the method has work for the next poll. timeout is how long the
// method may be left alone; < 0 means without limit.
func (e *Engine) armLocked() (timeout time.Duration, ok bool) {
	if !e.sleeper.Arm() {
		return 0, false
	}
	e.asleep, e.sleepUntil = true, -1
	if at, has := e.NextDeadline(); has {
		e.sleepUntil = max(at, 0)
		return max(at-e.monitor.cfg.Clock(), 0), true
	}
	return -1, true
}

// sleep sleeps on the method after armLocked, without the engine lock. It reports false if there was no time to sleep.
func (e *Engine) sleep(timeout time.Duration) bool {
	if timeout == 0 {
		return false
	}
	m := e.monitor
	m.counts.sleeps.Add(1)
	began := m.Now()
	e.sleeper.Sleep(timeout)
	m.counts.slept.Add(int64(m.Now() - began))
	return true
}

// disarmLocked ends the time after armLocked. It must follow each armLocked, whether that reported true or false.
func (e *Engine) disarmLocked() {
	e.asleep = false
	e.sleeper.Disarm()
}
