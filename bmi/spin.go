package bmi

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// A spinner decides how long a caller polls before it sleeps. Polling answers
// sooner, but only helps if the answer comes soon, and if nobody else needs
// the core: then it delays the very process that it waits for. So the time to
// spin is
//
//   - nothing while the machine has more runnable processes than cores (see
//     load);
//   - nothing for some waits after several spins in a row were in vain, and
//     for twice as many if the next is again, up to skipMax: so two processes
//     bound to one core, which the load of the machine does not show, soon
//     sleep at once;
//   - else the maximum, if waits were shorter than that lately (polled or
//     slept, so that spinning comes back by itself), falling to nothing as
//     their average grows to twice the maximum.
//
// Other goroutines that want to run are let in between bursts of polls.
//
// All but demand is used by the holder of the monitor alone.
type spinner struct {
	limit   time.Duration
	average time.Duration // of recent waits, each counted as 4 × limit at most

	lost int // spins in vain since the last that was not
	skip int // waits that do not spin
	step int // how many to skip the next time; 0 ≤ step ≤ skipMax

	load   load
	procs  int // GOMAXPROCS, which takes a lock to read
	sample [1]metrics.Sample
	bursts uint

	// demand counts callers that rely on the watchers while they sleep.
	demand atomic.Int32
}

const (
	burstPolls  = 32 // between two looks at the clock
	averageOver = 8  // waits
	lostMax     = 4  // spins in vain before waits go without
	skipMax     = 64 // waits
	yieldEvery  = 8  // bursts between two looks at the goroutines
	runnable    = "/sched/goroutines/runnable:goroutines"
)

func (s *spinner) init(limit time.Duration) {
	s.limit = max(limit, 0)
	s.procs = runtime.GOMAXPROCS(0)
	s.sample[0].Name = runnable
	if s.limit > 0 {
		s.load.open()
	}
}

// budget is how long to spin now.
func (s *spinner) budget(now time.Duration) time.Duration {
	if s.limit == 0 || s.load.crowded(now) {
		return 0
	}
	if s.skip > 0 {
		s.skip--
		return 0
	}
	return min(s.limit, max(2*s.limit-s.average, 0))
}

// won notes that a wait ended while its caller polled.
func (s *spinner) won(took time.Duration) {
	s.lost, s.step = 0, 0
	s.learn(took)
}

// vain notes that a caller polled for nothing and goes to sleep.
func (s *spinner) vain() {
	if s.lost++; s.lost >= lostMax {
		s.step = min(max(2*s.step, 1), skipMax)
		s.skip = s.step
	}
}

// slept notes how long a wait took in all that ended with sleep.
func (s *spinner) slept(took time.Duration) { s.learn(took) }

func (s *spinner) learn(took time.Duration) {
	s.average += (min(took, 4*s.limit) - s.average) / averageOver
}

// yield lets other goroutines run if there are any that cannot.
func (s *spinner) yield() {
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

// spin polls for as long as that is worthwhile.
func (e *Endpoint) spin(r *request, start, deadline time.Duration) bool {
	s := &e.spinner
	budget := s.budget(start)
	if budget <= 0 {
		return false
	}
	for now := start; ; {
		if e.pass(r, burstPolls) {
			s.won(now - start)
			return true
		}
		s.yield()
		now = e.now()
		if now-start >= budget || (deadline >= 0 && now >= deadline) || e.closing.Load() {
			e.counters.spinsLost.Inc()
			s.vain()
			return false
		}
	}
}
