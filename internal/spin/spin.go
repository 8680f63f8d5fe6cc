package spin

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// A Spinner decides how long a caller polls before it sleeps. Polling answers
// sooner, but only helps if the answer comes soon, and if nobody else needs
// the core: then it delays the very process that it waits for. So the time to
// spin is
//
//   - nothing for some waits after several spins in a row were in vain, or after
//     one while others wanted the core: the machine had more runnable processes
//     than cores (see load), or the kernel took the core away from who polled
//     (see preempt); and for twice as many if the next is no better, up to
//     skipMax: so two processes bound to one core soon sleep at once;
//   - else the maximum, if waits were shorter than that lately (polled or
//     slept, so that spinning comes back by itself), falling to nothing as
//     their average grows to twice the maximum.
//
// Other goroutines that want to run are let in between bursts of polls.
//
// One goroutine at a time uses it.
type Spinner struct {
	limit   time.Duration
	average time.Duration // of recent waits, each counted as 4 × limit at most

	lost int // spins in vain since the last that was not
	skip int // waits that do not spin
	step int // how many to skip the next time; 0 ≤ step ≤ skipMax

	load    load
	preempt preempt
	procs   int // GOMAXPROCS, which takes a lock to read
	sample  [1]metrics.Sample
	bursts  uint
}

// Burst is how many polls there are between two looks at the clock.
const Burst = 32

const (
	averageOver = 8  // waits
	lostMax     = 4  // spins in vain before waits go without
	skipMax     = 64 // waits
	yieldEvery  = 8  // bursts between two looks at the goroutines
	runnable    = "/sched/goroutines/runnable:goroutines"
)

// Init makes the Spinner poll for limit at most; 0 and less is not at all.
func (s *Spinner) Init(limit time.Duration) {
	s.limit = max(limit, 0)
	s.procs = runtime.GOMAXPROCS(0)
	s.sample[0].Name = runnable
	if s.limit > 0 {
		s.load.open()
		s.preempt.count = involuntary
	}
}

// Close frees what Init opened. Calls that come later still may.
func (s *Spinner) Close() { s.load.close() }

// IgnoreLoad makes the machine count as idle, for tests.
func (s *Spinner) IgnoreLoad() {
	s.load.close()
	s.load.file = nil
	s.preempt.count = nil
}

// Budget is how long to spin now. If it is not 0, Yield is called after each burst of polls, and
// Won or Vain at the end.
func (s *Spinner) Budget() time.Duration {
	if s.skip > 0 {
		s.skip--
		return 0
	}
	return min(s.limit, max(2*s.limit-s.average, 0))
}

// crowded tells, at the end of a spin, whether somebody else could use this core.
func (s *Spinner) crowded(now time.Duration) bool {
	s.preempt.end()
	return s.preempt.crowded() || s.load.crowded(now)
}

// Won notes that a wait ended while its caller polled.
func (s *Spinner) Won(now, took time.Duration) {
	s.lost = 0
	s.learn(took)
	if s.crowded(now) {
		s.hold()
	} else {
		s.step = 0
	}
}

// Vain notes that a caller polled for nothing and goes to sleep.
func (s *Spinner) Vain(now time.Duration) {
	if s.lost++; s.crowded(now) || s.lost >= lostMax {
		s.hold()
	}
}

// hold makes the next waits go without.
func (s *Spinner) hold() {
	s.step = min(max(2*s.step, 1), skipMax)
	s.skip = s.step
}

// Slept notes how long a wait took in all that ended with sleep.
func (s *Spinner) Slept(took time.Duration) { s.learn(took) }

func (s *Spinner) learn(took time.Duration) {
	s.average += (min(took, 4*s.limit) - s.average) / averageOver
}

// Yield lets other goroutines run if there are any that cannot.
func (s *Spinner) Yield() {
	s.preempt.note()
	s.bursts++
	if s.procs == 1 {
		runtime.Gosched()
		return
	}
	if s.bursts%yieldEvery != 0 {
		return
	}
	metrics.Read(s.sample[:])
	if v := s.sample[0].Value; v.Kind() == metrics.KindUint64 && v.Uint64() > 0 {
		s.procs = runtime.GOMAXPROCS(0)
		runtime.Gosched()
	}
}
