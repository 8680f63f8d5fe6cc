package server

import (
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// timer is one of the durations that MGMT_PERF_MON returns, in its order.
type timer int

// The timers. Each is for the requests of one operation. REMOVE of a directory counts for timeRmdir.
const (
	timeLookup timer = iota
	timeCreate
	timeRemove
	timeMkdir
	timeRmdir
	timeGetAttr
	timeSetAttr
	timeIO
	timeSmallIO
	timeReadDir
	timers = int(iota)
)

// timerParts is how many values a timer has: the sum of all durations, their number, the shortest and the longest, in
// nanoseconds.
const timerParts = 4

// timerOf is the timer of an operation; -1 if it has none.
func timerOf(op proto.Op, directory bool) timer {
	switch op {
	case proto.OpLookupPath:
		return timeLookup
	case proto.OpCreate:
		return timeCreate
	case proto.OpRemove:
		if directory {
			return timeRmdir
		}
		return timeRemove
	case proto.OpMkdir:
		return timeMkdir
	case proto.OpGetAttr:
		return timeGetAttr
	case proto.OpSetAttr:
		return timeSetAttr
	case proto.OpIO:
		return timeIO
	case proto.OpSmallIO:
		return timeSmallIO
	case proto.OpReadDir:
		return timeReadDir
	}
	return -1
}

// durations is the state of one timer.
type durations struct{ sum, count, least, most atomic.Int64 }

// add counts one duration. It is at least 1 ns, because 0 means that there is no minimum yet.
func (d *durations) add(took time.Duration) {
	n := max(took.Nanoseconds(), 1)
	d.sum.Add(n)
	d.count.Add(1)
	for {
		if old := d.least.Load(); (old != 0 && old <= n) || d.least.CompareAndSwap(old, n) {
			break
		}
	}
	for {
		if old := d.most.Load(); old >= n || d.most.CompareAndSwap(old, n) {
			break
		}
	}
}

// read returns a timer's values.
func (d *durations) read() [timerParts]int64 {
	return [timerParts]int64{d.sum.Load(), d.count.Load(), d.least.Load(), d.most.Load()}
}

// took records the duration of a finished request.
func (p *perf) took(q *query, duration time.Duration) {
	if t := timerOf(q.req.Op(), q.directory); t >= 0 {
		p.times[t].add(duration)
	}
}
