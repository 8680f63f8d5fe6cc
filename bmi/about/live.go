package about

import (
	"slices"
	"sync"
)

// live holds the objects that are open in this process, for programs that watch it.
var live struct {
	sync.Mutex
	all     []*any
	changed []*func(n int)
	holds   int // calls of Hold that are not released; no function of changed is called meanwhile
}

// Opened adds an object to those that are open in this process, such as an endpoint. closed removes it
// again, and must be called once.
func Opened(object any) (closed func()) {
	one := &object
	live.Lock()
	live.all = append(live.all, one)
	unlockAndTell()
	return func() {
		live.Lock()
		live.all = slices.DeleteFunc(live.all, func(o *any) bool { return o == one })
		unlockAndTell()
	}
}

// Hold delays the calls of Changed until release is called. A package that shows one thing by several objects holds while it opens
// them, so that no viewer sees a part of it. release can be called more than once.
func Hold() (release func()) {
	live.Lock()
	defer live.Unlock()
	live.holds++
	return sync.OnceFunc(func() {
		live.Lock()
		live.holds--
		unlockAndTell()
	})
}

// unlockAndTell unlocks live, and calls the functions of Changed unless they are held back.
func unlockAndTell() {
	var told []*func(int)
	if live.holds == 0 {
		told = slices.Clone(live.changed)
	}
	n := len(live.all)
	live.Unlock()
	for _, fn := range told {
		(*fn)(n)
	}
}

// Live returns the open objects, in the order in which they were opened.
func Live() []any {
	live.Lock()
	defer live.Unlock()
	all := make([]any, len(live.all))
	for i, o := range live.all {
		all[i] = *o
	}
	return all
}

// Changed calls fn with the number of open objects, now and whenever it changes, until stop is called.
// During a Hold, the calls wait for its end. Calls can overlap.
func Changed(fn func(n int)) (stop func()) {
	one := &fn
	live.Lock()
	live.changed = append(live.changed, one)
	n, held := len(live.all), live.holds > 0
	live.Unlock()
	if !held {
		fn(n)
	}
	return func() {
		live.Lock()
		defer live.Unlock()
		live.changed = slices.DeleteFunc(live.changed, func(f *func(int)) bool { return f == one })
	}
}
