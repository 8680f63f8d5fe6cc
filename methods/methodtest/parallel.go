package methodtest

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A goroutineT is the T of one of several goroutines of a test. FailNow ends only
// that goroutine; the test ends when all have ended.
type goroutineT struct {
	T
	failed *atomic.Bool
}

func (t *goroutineT) FailNow() {
	t.failed.Store(true)
	runtime.Goexit()
}

func (t *goroutineT) Errorf(format string, args ...any) {
	t.T.Helper()
	t.failed.Store(true)
	t.T.Errorf(format, args...)
}

// parallel runs fn in count goroutines and waits for all of them; each uses its
// own lanes.
func (w *world) parallel(count int, fn func(t T, i int)) {
	w.Helper()
	w.threaded()
	w.run(count, fn)
}

// together runs each function in its own goroutine, all starting at the same
// time; in simulated time, one after the other without progress in between.
func (w *world) together(fns ...func(t T)) {
	w.Helper()
	if w.s.Step == nil {
		w.run(len(fns), func(t T, i int) { fns[i](t) })
		return
	}
	for _, fn := range fns {
		fn(w.T)
	}
}

func (w *world) run(count int, fn func(t T, i int)) {
	w.Helper()
	var failed atomic.Bool
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range count {
		all.Go(func() {
			<-start
			fn(&goroutineT{T: w.T, failed: &failed}, i)
		})
	}
	close(start)
	// Every wait inside is bounded, so this one is too.
	all.Wait()
	for _, l := range w.everyLane() {
		l.t = w.T
	}
	if failed.Load() {
		w.FailNow()
	}
}
