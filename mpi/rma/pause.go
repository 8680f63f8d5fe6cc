package rma

import (
	"runtime"
	"time"
)

// yield lets other goroutines run.
func yield() { runtime.Gosched() }

// napTime is how long a process sleeps that has waited in vain for a lock which is never held long:
// its holder needs a core.
const napTime = 100 * time.Microsecond

// nap lets other processes run.
func nap() { time.Sleep(napTime) }
