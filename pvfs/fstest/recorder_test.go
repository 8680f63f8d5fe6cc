package fstest_test

import (
	"fmt"
	"runtime"
	"sync"
)

// recorder is a test in progress whose failure is what somebody waits for.
type recorder struct {
	mu      sync.Mutex
	name    string
	failed  bool
	skipped string
	errors  []string
	cleanup []func()
}

// run calls fn, which may leave by FailNow.
func (r *recorder) run(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for i := len(r.cleanup) - 1; i >= 0; i-- {
				r.cleanup[i]()
			}
		}()
		fn()
	}()
	<-done
}

func (r *recorder) Helper()             {}
func (r *recorder) Name() string        { return r.name }
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Cleanup(fn func())   { r.cleanup = append(r.cleanup, fn) }
func (r *recorder) Failed() bool        { r.mu.Lock(); defer r.mu.Unlock(); return r.failed }

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

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
