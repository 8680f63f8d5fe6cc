package seamtest

import "time"

// T is the part of *testing.T that tests need.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	FailNow()
	Skip(args ...any)
	Cleanup(func())
}

// Defaults of a subject's limits.
const (
	timeoutDefault = time.Minute
	stepsDefault   = 1_000_000
)

// Timeout is the limit in real time: the given one, or a default, which is longer if time is simulated.
func Timeout(set time.Duration, simulated bool) time.Duration {
	switch {
	case set > 0:
		return set
	case simulated:
		return 10 * timeoutDefault // a busy machine must not fail a test in simulated time
	}
	return timeoutDefault
}

// Steps is the limit of steps of simulated time in a row: the given one, or a default.
func Steps(set int) int {
	if set > 0 {
		return set
	}
	return stepsDefault
}
