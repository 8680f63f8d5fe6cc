// Package wallclock is what a test may do with the time that something took. On a busy machine
// anything may take any time, so a verdict of the fast tier never depends on it
// (docs/testing.md); how fast something should be is for bench and, roughly, for the soak tier.
package wallclock

import (
	"testing"
	"time"
)

// Patience is how long a test waits for an event before it says that the event does not come.
// Only a broken program meets it.
const Patience = 2 * time.Minute

// Forever does not return. Unlike an empty select it is no deadlock to Go, which ends a process
// without cgo whose goroutines all block.
func Forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// Under fails t if something took longer than a limit, in the soak tier. In the fast tier it
// fails only if the limit is [Patience] or more.
func Under(t testing.TB, took, limit time.Duration, what string) {
	t.Helper()
	if took > limit && (limit >= Patience || !testing.Short()) {
		t.Errorf("%s took %v, over %v", what, took, limit)
	}
}
