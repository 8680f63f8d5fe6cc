package methodtest_test

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

// A recorder is a T that notes what a test of the suite says instead of failing
// the test around it.
type recorder struct {
	name string

	mu       sync.Mutex
	failed   bool
	skipped  string
	errors   []string
	cleanups []func()
}

func (r *recorder) Helper()             {}
func (r *recorder) Name() string        { return r.name }
func (r *recorder) Logf(string, ...any) {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) FailNow() {
	r.mu.Lock()
	r.failed = true
	r.mu.Unlock()
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Skipf(format string, args ...any) {
	r.mu.Lock()
	r.skipped = fmt.Sprintf(format, args...)
	r.mu.Unlock()
	runtime.Goexit()
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

// record runs one test of the suite to its end, cleanups included.
func record(test methodtest.Test, f methodtest.Factory) *recorder {
	r := &recorder{name: test.Name}
	r.inGoroutine(func() { test.Func(r, f(r)) })
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.inGoroutine(r.cleanups[i])
	}
	return r
}

// inGoroutine lets f end its goroutine, as FailNow does.
func (r *recorder) inGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}
