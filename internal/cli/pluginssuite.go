package cli

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

// A trial is one test of the conformance suite on its way: what *testing.T is under go
// test, which has no place in a command.
type trial struct {
	name string

	mu       sync.Mutex
	failed   bool
	skipped  bool
	said     []string // by Errorf and Skipf
	cleanups []func()
}

var _ methodtest.T = (*trial)(nil)

func (t *trial) Helper()      {}
func (t *trial) Name() string { return t.name }

// Logf is what go test shows on request only, such as how to replay a seed.
func (t *trial) Logf(string, ...any) {}

func (t *trial) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
	t.said = append(t.said, fmt.Sprintf(format, args...))
}

// FailNow ends the goroutine that calls it.
func (t *trial) FailNow() {
	t.mu.Lock()
	t.failed = true
	t.mu.Unlock()
	runtime.Goexit()
}

func (t *trial) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

func (t *trial) Skipf(format string, args ...any) {
	t.mu.Lock()
	t.skipped = true
	t.said = append(t.said, fmt.Sprintf(format, args...))
	t.mu.Unlock()
	runtime.Goexit()
}

func (t *trial) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// cleanup takes the last function that was given to Cleanup and not run yet.
func (t *trial) cleanup() func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := len(t.cleanups) - 1
	if last < 0 {
		return nil
	}
	f := t.cleanups[last]
	t.cleanups = t.cleanups[:last]
	return f
}

// Outcomes of a test.
const (
	testPassed  = "ok"
	testSkipped = "skip"
	testFailed  = "FAIL"
)

// A verdict is what a test came to.
type verdict struct {
	test    string
	outcome string
	took    time.Duration
	said    []string
}

// try runs a test to its end, cleanups included. When ctx ends it does not wait for it:
// the command is about to leave.
func try(ctx context.Context, test methodtest.Test, factory methodtest.Factory) (verdict, error) {
	t := &trial{name: test.Name}
	start := time.Now()
	if err := ended(ctx, func() { test.Func(t, factory(t)) }); err != nil {
		return verdict{}, err
	}
	for f := t.cleanup(); f != nil; f = t.cleanup() {
		if err := ended(ctx, f); err != nil {
			return verdict{}, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	v := verdict{test: test.Name, outcome: testPassed, took: time.Since(start), said: t.said}
	switch {
	case t.failed:
		v.outcome = testFailed
	case t.skipped:
		v.outcome = testSkipped
	}
	return v, nil
}

// ended runs f, which may end its goroutine, and waits for it.
func ended(ctx context.Context, f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// String is the verdict in one line, with the reasons of a failure below.
func (v verdict) String() string {
	line := fmt.Sprintf("  %-4s  %-28s", v.outcome, v.test)
	switch v.outcome {
	case testSkipped:
		return line + " " + strings.Join(strings.Fields(strings.Join(v.said, "; ")), " ")
	case testFailed:
		line = strings.TrimRight(line, " ")
		for _, said := range v.said {
			for text := range strings.Lines(strings.Trim(said, "\n")) {
				line += "\n          " + strings.TrimRight(strings.ReplaceAll(text, "\t", "  "), " \n")
			}
		}
		return line
	}
	return fmt.Sprintf("%s %7.2f s", line, v.took.Seconds())
}
