// Package verdict runs tests of a suite outside go test, or inside where their failure is what a test
// waits for: a T does what testing.T does, but for failing the test around it.
package verdict

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// A T is a test in progress that remembers what is said of it.
type T struct {
	name string

	mu       sync.Mutex
	failed   bool
	skipped  string
	errors   []string
	cleanups []func()
}

// Run runs a test to its end, with what it leaves to Cleanup, and returns how it ended. Either may
// end its goroutine, as FailNow does.
func Run(name string, test func(t *T)) *T {
	t, _ := RunContext(context.Background(), name, test)
	return t
}

// RunContext is Run, but does not wait for the test when ctx ends.
func RunContext(ctx context.Context, name string, test func(t *T)) (*T, error) {
	t := &T{name: name}
	for fn := func() { test(t) }; fn != nil; fn = t.takeCleanup() {
		if err := apart(ctx, fn); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// apart runs fn in a goroutine of its own.
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

// takeCleanup is the last of what is left to do; nil if nothing is.
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

// Name is what Run was given.
func (t *T) Name() string { return t.name }

// Logf does nothing.
func (t *T) Logf(string, ...any) {}

// Cleanup leaves fn to the end.
func (t *T) Cleanup(fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, fn)
}

// Errorf says what is wrong.
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

// Skip ends the test, which says why it makes no sense.
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

// Failed tells whether something is wrong.
func (t *T) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// Skipped is why the test makes no sense; "" if it does.
func (t *T) Skipped() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.skipped
}

// Errors are what Errorf was told.
func (t *T) Errors() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.errors
}
