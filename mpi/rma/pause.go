package rma

import (
	"runtime"
	"time"
)

// yield lets other goroutines run.
func yield() { runtime.Gosched() }

// napTime is how long a process sleeps after it has polled in vain for a lock that is only held
// briefly: the holder probably needs a core.
const napTime = 100 * time.Microsecond

// nap lets other processes run.
func nap() { time.Sleep(napTime) }
