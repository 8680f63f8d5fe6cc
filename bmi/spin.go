package bmi

import (
	"os"
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
//   - nothing while the machine has more runnable processes than cores, which
//     the kernel tells in /proc/loadavg, sampled at most every sampleAfter;
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

	sampledAt time.Duration
	running   int // runnable processes × 16, averaged
	cores     int
	procs     int // GOMAXPROCS, which takes a lock to read
	loadavg   *os.File
	buf       [64]byte

	sample [1]metrics.Sample
	bursts uint

	// demand counts callers that rely on the watchers while they sleep.
	demand atomic.Int32
}

const (
	burstPolls  = 32               // between two looks at the clock
	sampleAfter = time.Millisecond // between two looks at the load
	averageOver = 8                // waits
	loadUnit    = 16               // of spinner.running
	yieldEvery  = 8                // bursts between two looks at the goroutines
	runnable    = "/sched/goroutines/runnable:goroutines"
)

func (s *spinner) init(limit time.Duration) {
	s.limit = max(limit, 0)
	s.sampledAt = -sampleAfter
	s.cores, s.procs = runtime.NumCPU(), runtime.GOMAXPROCS(0)
	s.sample[0].Name = runnable
	if s.limit > 0 {
		// Without it the spinner goes by its own statistics alone.
		s.loadavg, _ = os.Open("/proc/loadavg")
	}
}

func (s *spinner) close() {
	if s.loadavg != nil {
		_ = s.loadavg.Close()
	}
}

// budget is how long to spin now.
func (s *spinner) budget(now time.Duration) time.Duration {
	if s.limit == 0 || s.crowded(now) {
		return 0
	}
	return min(s.limit, max(2*s.limit-s.average, 0))
}

// won and slept report how a wait ended.
func (s *spinner) won(took time.Duration)   { s.learn(took) }
func (s *spinner) slept(took time.Duration) { s.learn(took) }

func (s *spinner) learn(took time.Duration) {
	s.average += (min(took, 4*s.limit) - s.average) / averageOver
}

// crowded tells whether somebody else could use this core.
func (s *spinner) crowded(now time.Duration) bool {
	if s.loadavg == nil {
		return false
	}
	if now-s.sampledAt >= sampleAfter {
		s.sampledAt = now
		s.procs = runtime.GOMAXPROCS(0)
		if n, err := s.loadavg.ReadAt(s.buf[:], 0); n > 0 {
			_ = err // a short file ends in io.EOF
			if r, ok := parseRunning(s.buf[:n]); ok {
				s.running += (r*loadUnit - s.running) / 4
			}
		}
	}
	return s.running > s.cores*loadUnit+loadUnit/2
}

// parseRunning reads the number of runnable processes, "2" in
// "0.44 0.15 0.05 2/98 10132" (proc_loadavg(5)).
func parseRunning(line []byte) (int, bool) {
	field, n := 0, -1
	for _, b := range line {
		switch {
		case b == ' ':
			field++
		case field == 3 && b == '/':
			return n, n >= 0
		case field == 3 && b >= '0' && b <= '9' && n < 1<<20:
			n = max(n, 0)*10 + int(b-'0')
		case field >= 3:
			return 0, false
		}
	}
	return 0, false
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
			return false
		}
	}
}
