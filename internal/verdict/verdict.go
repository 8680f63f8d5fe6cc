// Package verdict runs tests of a suite outside go test, or within a test that expects them to fail:
// its T behaves like testing.T, but does not fail the surrounding test.
package verdict

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// A T is a test in progress that records its failures.
type T struct {
	name string

	mu       sync.Mutex
	failed   bool
	skipped  string
	errors   []string
	cleanups []func()
}

// Run runs a test to its end, including its Cleanup functions, and returns the result. Either may end
// its goroutine, as FailNow does.
func Run(name string, test func(t *T)) *T {
	t, _ := RunContext(context.Background(), name, test)
	return t
}

// RunContext is Run, but does not wait for the test if ctx ends.
func RunContext(ctx context.Context, name string, test func(t *T)) (*T, error) {
	t := &T{name: name}
	for fn := func() { test(t) }; fn != nil; fn = t.takeCleanup() {
		if err := apart(ctx, fn); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// apart runs fn in its own goroutine.
func apart(ctx context.Context, fn func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// takeCleanup removes and returns the last Cleanup function; nil if there is none.
func (t *T) takeCleanup() (fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.cleanups); n > 0 {
		fn, t.cleanups = t.cleanups[n-1], t.cleanups[:n-1]
	}
	return fn
}

// Helper does nothing.
func (t *T) Helper() {}

// Name is the name given to Run.
func (t *T) Name() string { return t.name }

// Logf does nothing.
func (t *T) Logf(string, ...any) {}

// Cleanup registers fn to run at the end.
func (t *T) Cleanup(fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, fn)
}

// Errorf records a failure.
func (t *T) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

// FailNow ends the test.
func (t *T) FailNow() {
	t.mu.Lock()
	t.failed = true
	t.mu.Unlock()
	runtime.Goexit()
}

// Skip ends the test with the reason why it is not applicable.
func (t *T) Skip(args ...any) { t.Skipf("%s", fmt.Sprint(args...)) }

// Skipf is Skip.
func (t *T) Skipf(format string, args ...any) {
	t.mu.Lock()
	if t.skipped = fmt.Sprintf(format, args...); t.skipped == "" {
		t.skipped = "no reason was given"
	}
	t.mu.Unlock()
	runtime.Goexit()
}

// Failed reports whether the test has failed.
func (t *T) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// Skipped is the reason why the test was skipped; "" if it was not.
func (t *T) Skipped() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.skipped
}

// Errors are the recorded failures.
func (t *T) Errors() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.errors
}
