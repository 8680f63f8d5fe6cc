// Package wallclock limits the use of measured times in tests. On a busy machine anything may
// take any time, so the result of the fast tier never depends on it (docs/internals/testing.md). Speed is
// measured by bench and, roughly, by the soak tier.
package wallclock

import (
	"testing"
	"time"
)

// Patience is how long a test waits for an event before it fails. Only a broken program takes
// that long.
const Patience = 5 * time.Minute

// Forever does not return. Unlike an empty select it is not a deadlock for Go, which ends a
// process without cgo if all its goroutines block.
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
