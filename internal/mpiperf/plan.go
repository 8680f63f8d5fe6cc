package mpiperf

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// Bounds and defaults of a plan.
const (
	// WindowDefault and WindowMax are the default and the limit of Plan.Window, in messages.
	WindowDefault, WindowMax = 64, 4096
	// IterationsMax bounds Plan.Iterations.
	IterationsMax = 1 << 30
	// BatchesDefault and BatchesMax are the default and the limit of Plan.Batches.
	BatchesDefault, BatchesMax = 10, 10_000
	// MemoryMax is the most memory that a rank uses for a point, in bytes.
	MemoryMax = 1 << 30
)

// windowBytesMax bounds the total size of the messages of a window, unless two messages are
// already larger. So a test measures messages, and not memory outside the caches.
const windowBytesMax = 4 << 20

// ErrPlan is a plan that is invalid, or invalid for this number of ranks.
var ErrPlan = errors.New("mpiperf: bad plan")

// A Plan says what to measure. It is the same on all ranks.
type Plan struct {
	Tests []perf.Test
	// Sizes of messages, or of a rank's data for another one, in bytes. A test omits sizes
	// that make no sense for it. nil: powers of two, up to a limit that suits the test.
	Sizes []int
	// Ranks are the numbers of ranks on which to measure collective operations: the first
	// ranks of the job. nil: all. Messages go between the first two.
	Ranks []int
	// Window is how many messages are in progress at once, in all tests of messages except
	// Latency and Partitioned. 0: WindowDefault.
	Window int
	// Iterations of a point, in all batches together. 0: a number that suits the test and
	// size, smaller for large sizes.
	Iterations int
	// Time, if not 0, is the approximate time for a point; it determines iterations and
	// batches.
	Time time.Duration
	// Batches into which the iterations are divided. 0: BatchesDefault.
	Batches int
	// Check also checks the contents of messages, in separate rounds.
	Check bool
	// Created: the windows of one-sided tests have memory of the program, and not of their own, which
	// processes of one host map.
	Created bool
	// File is the name of the file for tests of files, as package file takes it. It is made and
	// removed.
	File string
	// OwnProcess: the rank is alone in its process, so it may control when the garbage
	// collector runs.
	OwnProcess bool
}

// checked returns the plan with defaults for a job with this number of ranks.
func (p Plan) checked(ranks int) (Plan, error) {
	p.Window, p.Batches = cmp.Or(p.Window, WindowDefault), cmp.Or(p.Batches, BatchesDefault)
	if p.Ranks == nil {
		p.Ranks = []int{ranks}
	}
	switch {
	case p.Window < 1 || p.Window > WindowMax:
		return p, fmt.Errorf("%w: a window of %d messages: choose 1 to %d", ErrPlan, p.Window, WindowMax)
	case p.Batches < 1 || p.Batches > BatchesMax:
		return p, fmt.Errorf("%w: %d batches: choose 1 to %d", ErrPlan, p.Batches, BatchesMax)
	case p.Iterations < 0 || p.Iterations > IterationsMax:
		return p, fmt.Errorf("%w: %d iterations: choose 1 to %d, or 0 for what suits the size", ErrPlan, p.Iterations, IterationsMax)
	case p.Time < 0 || p.Time > time.Hour:
		return p, fmt.Errorf("%w: a time of %v: choose more than 0 and at most an hour", ErrPlan, p.Time)
	case p.Time > 0 && p.Iterations > 0:
		return p, fmt.Errorf("%w: both a time and a number of iterations: give one of them", ErrPlan)
	}
	for _, n := range p.Ranks {
		if n < 1 || n > ranks {
			return p, fmt.Errorf("%w: %d ranks of a job that has %d", ErrPlan, n, ranks)
		}
	}
	for _, t := range p.Tests {
		if err := p.checkTest(t, ranks); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p Plan) checkTest(t perf.Test, ranks int) error {
	s, known := specOf(t)
	switch {
	case !known:
		return fmt.Errorf("%w: unknown test %q: choose from %s", ErrPlan, t, TestNames())
	case s.paired() && ranks < 2:
		return fmt.Errorf("%w: %s is between two ranks, and the job has one: start it by mpiexec -n 2", ErrPlan, t)
	}
	sizes := p.sizesOf(s)
	switch {
	case len(sizes) == 0 && s.kind == files:
		return fmt.Errorf("%w: none of the sizes is one for %s: give powers of two from %s on", ErrPlan, t, perf.FormatSize(s.sizeMin))
	case len(sizes) == 0:
		return fmt.Errorf("%w: none of the sizes is one for %s: give whole multiples of %d bytes", ErrPlan, t, max(1, s.sizeMin))
	case s.kind == files && p.File == "":
		return fmt.Errorf("%w: %s needs the name of a file: give --file", ErrPlan, t)
	}
	for _, size := range sizes {
		if size < 0 || size > MemoryMax {
			return fmt.Errorf("%w: a size of %d bytes: choose 0 to %s", ErrPlan, size, perf.FormatSize(MemoryMax))
		}
		if need := s.memory(size, slices.Max(p.Ranks), p.windowOf(s, size)); need > MemoryMax {
			return fmt.Errorf("%w: %s of %s takes %d bytes of memory on each rank: choose sizes that take at most %s",
				ErrPlan, t, perf.FormatSize(size), need, perf.FormatSize(MemoryMax))
		}
		if s.kind == files && slices.ContainsFunc(p.Ranks, func(n int) bool { return !divisible(size, gridOf(n)) }) {
			return fmt.Errorf("%w: an array of %s has not enough rows and columns for so many ranks: choose a larger size", ErrPlan, perf.FormatSize(size))
		}
	}
	return nil
}

// sizesOf are the sizes for a test, in bytes. A barrier has the only size 0.
func (p Plan) sizesOf(s spec) []int {
	if s.sizeMax == 0 {
		return []int{0}
	}
	if p.Sizes == nil {
		return series(s)
	}
	return slices.DeleteFunc(slices.Clone(p.Sizes), func(size int) bool { return !s.fits(size) })
}

// series are the powers of two from the smallest size of a test to its largest, preceded by 0
// if the test allows empty messages.
func series(s spec) []int {
	var out []int
	if s.sizeMin == 0 {
		out = append(out, 0)
	}
	for n := max(1, s.sizeMin); n <= s.sizeMax; n *= 2 {
		out = append(out, n)
	}
	return out
}

// windowOf is how many messages of a size are in progress at once.
func (p Plan) windowOf(s spec, size int) int {
	switch {
	case s.kind != messages || s.test == perf.Latency || s.test == Partitioned:
		return 1
	case s.test == perf.Rate:
		return p.Window
	}
	return min(p.Window, max(2, windowBytesMax/max(1, size)))
}

// largeSize is the size from which messages count as large: fewer of them are sent, because
// each takes longer.
const largeSize = 8 << 10

// shape is the number of iterations before the measurement of a point, the number of batches,
// and the iterations in each.
func (p Plan) shape(s spec, size, window int) (warmUp, batches, steps int) {
	n := p.Iterations
	switch {
	case n == 0 && s.kind == files:
		n = 10
	case n == 0:
		n = 10_000
		if size > largeSize {
			n = 1000
		}
		if window > 1 {
			n /= 10
		}
		if !s.paired() {
			n /= 2
		}
	}
	batches = min(p.Batches, n)
	warmUp = max(2, n/10)
	if s.kind == files {
		warmUp = 1 // the file has been written once
	}
	return warmUp, batches, n / batches
}
