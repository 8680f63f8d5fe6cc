package spin

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// A Spinner decides how long a caller polls before it sleeps. Polling notices an answer sooner,
// but helps only if the answer comes soon and no other process needs the core: otherwise polling
// delays the very process that it waits for. So the time to spin is
//
//   - 0 for some waits after several spins in a row were in vain, or after one that was in vain,
//     or not quick, while another process wanted the core and did not give it back soon: the kernel
//     took the core away from the polling thread (see preempt). The number of such waits doubles if
//     the next spin is no better, up to skipMax. An answer that comes quickly is from a process that
//     runs on another core, however crowded this one is;
//   - otherwise the maximum, if recent waits were shorter than that (polled or slept, so that
//     spinning resumes by itself). It falls to 0 as their average grows to twice the maximum. It
//     is at most tightMax while another process wants the core and does not give it back.
//
// Between bursts of polls, other goroutines that are ready may run, and once the wait is no longer a quick one, other processes, too
// (see pass). As long as these give the core back soon, a crowd is no reason not to poll.
//
// One goroutine at a time uses it, except for Limit and SetLimit.
type Spinner struct {
	limit   atomic.Int64  // the longest time to poll, in nanoseconds; any goroutine may change it
	average time.Duration // of recent waits, each counted as 4 × limit at most

	tight bool // another process could use the core, as far as is known

	lost int // spins in vain in a row
	skip int // waits without spinning
	step int // how many to skip next time; 0 ≤ step ≤ skipMax

	preempt preempt
	pass    pass
	procs   int // GOMAXPROCS, which takes a lock to read
	sample  [1]metrics.Sample
	bursts  uint
}

// Burst is the number of polls between two readings of the clock, and TightBurst that between two passes of the core to others that
// want it.
const (
	Burst      = 32
	TightBurst = 4
)

const (
	averageOver = 8  // number of waits in the average
	lostMax     = 4  // spins in vain before waits skip spinning
	skipMax     = 64 // waits
	yieldEvery  = 8  // bursts between two checks for other goroutines
	// quick is less than the kernel takes to run another process in between: the answer came
	// from one that was running.
	quick = 10 * time.Microsecond
	// tightMax bounds a spin while another process could use the core.
	tightMax = 20 * time.Microsecond
	runnable = "/sched/goroutines/runnable:goroutines"
)

// Init sets the longest time to poll; 0 or less means never to poll.
func (s *Spinner) Init(limit time.Duration) {
	s.SetLimit(limit)
	s.procs = runtime.GOMAXPROCS(0)
	s.sample[0].Name = runnable
	s.preempt.count = involuntary
	s.pass.yield = yieldCore
}

// Limit returns the longest time to poll.
func (s *Spinner) Limit() time.Duration { return time.Duration(s.limit.Load()) }

// SetLimit changes the longest time to poll, from the next wait on; 0 or less means never to poll.
func (s *Spinner) SetLimit(limit time.Duration) { s.limit.Store(int64(max(limit, 0))) }

// IgnoreLoad makes the core count as the caller's own, for tests.
func (s *Spinner) IgnoreLoad() {
	s.preempt.count = nil
	s.pass.yield = nil
}

// Budget is how long to spin now. If it is not 0, the caller must call Yield after each burst of
// polls, and Won or Vain at the end.
func (s *Spinner) Budget() time.Duration {
	if s.skip > 0 {
		s.skip--
		return 0
	}
	s.pass.begin()
	limit := s.Limit()
	limit = min(limit, max(2*limit-s.average, 0))
	if s.tight && !s.pass.allowed() {
		limit = min(limit, tightMax)
	}
	return limit
}

// end notes, at the end of a spin, what has happened to the core.
func (s *Spinner) end(now time.Duration) {
	s.pass.back(now)
	s.pass.end()
	s.preempt.end()
}

// crowded reports, after end, whether another process could use this core and does not get it.
func (s *Spinner) crowded() bool {
	s.tight = s.preempt.crowded()
	return s.tight && !s.pass.allowed()
}

// Won records that a wait ended while its caller polled.
func (s *Spinner) Won(now, took time.Duration) {
	s.lost = 0
	s.learn(took)
	s.end(now)
	if took <= quick {
		s.tight = s.tight && s.preempt.crowded() // it may be over
		s.step = 0
		return
	}
	if s.crowded() {
		s.hold()
	} else {
		s.step = 0
	}
}

// Vain records that a caller polled in vain and goes to sleep.
func (s *Spinner) Vain(now time.Duration) {
	s.end(now)
	if s.lost++; s.crowded() || s.lost >= lostMax {
		s.hold()
	}
}

// hold makes the next waits skip spinning.
func (s *Spinner) hold() {
	s.step = min(max(2*s.step, 1), skipMax)
	s.skip = s.step
}

// Slept records the total time of a wait that ended with sleep.
func (s *Spinner) Slept(took time.Duration) { s.learn(took) }

func (s *Spinner) learn(took time.Duration) {
	s.average += (min(took, 4*s.Limit()) - s.average) / averageOver
}

// Yield lets other goroutines and other processes run if any are waiting to run. waited is how long the spin has lasted. It reports
// false if the spin had better end.
func (s *Spinner) Yield(now, waited time.Duration) bool {
	if s.pass.back(now) {
		return false
	}
	s.yieldGoroutine()
	if (waited > quick || s.tight) && s.pass.allowed() {
		s.pass.on(now)
	}
	return true
}

func (s *Spinner) yieldGoroutine() {
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

// Polls is how often to poll before the next Yield.
func (s *Spinner) Polls() int {
	if s.tight && s.pass.allowed() {
		return TightBurst
	}
	return Burst
}
