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
}

// Opened adds an object to those that are open in this process, such as an endpoint. closed removes it
// again, and must be called once.
func Opened(object any) (closed func()) {
	one := &object
	live.Lock()
	live.all = append(live.all, one)
	told, n := slices.Clone(live.changed), len(live.all)
	live.Unlock()
	tell(told, n)
	return func() {
		live.Lock()
		live.all = slices.DeleteFunc(live.all, func(o *any) bool { return o == one })
		told, n := slices.Clone(live.changed), len(live.all)
		live.Unlock()
		tell(told, n)
	}
}

func tell(fns []*func(int), n int) {
	for _, fn := range fns {
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
// Calls can overlap.
func Changed(fn func(n int)) (stop func()) {
	one := &fn
	live.Lock()
	live.changed = append(live.changed, one)
	n := len(live.all)
	live.Unlock()
	fn(n)
	return func() {
		live.Lock()
		defer live.Unlock()
		live.changed = slices.DeleteFunc(live.changed, func(f *func(int)) bool { return f == one })
	}
}
