package seamtest

import "time"

// T is what a test needs of *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	FailNow()
	Skip(args ...any)
	Cleanup(func())
}

// Defaults of what a subject allows.
const (
	timeoutDefault = time.Minute
	stepsDefault   = 1_000_000
)

// Timeout is how long anything may take in real time: what is set, or a default, which is longer if time
// is simulated.
func Timeout(set time.Duration, simulated bool) time.Duration {
	switch {
	case set > 0:
		return set
	case simulated:
		return 10 * timeoutDefault // a busy machine must not end what does not take its time
	}
	return timeoutDefault
}

// Steps is how many steps of simulated time in a row anything may take: what is set, or a default.
func Steps(set int) int {
	if set > 0 {
		return set
	}
	return stepsDefault
}
