package client

import (
	"context"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A ServerLoad has a server's counters since its start, and its present load.
type ServerLoad struct {
	ServerSpace
	// NoCounts is why the rest is missing: servers tell it to root, or to all in the networks of pvfsd serve --manage-from (EACCES).
	NoCounts                error
	Requests, Running       uint64
	BytesRead, BytesWritten uint64
	Operations              []OperationLoad
	Scrub                   *proto.ScrubReport // nil: not known
}

// An OperationLoad is the requests of one operation.
type OperationLoad struct {
	Name           string
	Count          uint64
	Sum            time.Duration // of all their durations
	Least, Longest time.Duration
}

// The counters of MGMT_PERF_MON that a load has, by their number.
const (
	perfRead, perfWritten, perfRunning, perfRequests = 0, 1, 6, 7
	perfCounters                                     = 8
)

// perfOperations are the operations that have timers, in their order.
var perfOperations = []string{"lookup", "create", "remove", "mkdir", "rmdir", "getattr", "setattr", "io", "small-io", "readdir"}

// perfTimerParts: a timer is a sum, a number, the shortest and the longest duration, in nanoseconds.
const perfTimerParts = 4

// Load asks all servers for their space and their counters. Servers that do not answer have an error.
func (f *FS) Load(ctx context.Context) []ServerLoad {
	loads := make([]ServerLoad, len(f.servers))
	_ = all(len(f.servers), func(i int) error { // the errors are in the result
		l := &loads[i]
		l.Alias, l.Address = f.servers[i].alias, f.servers[i].address
		if _, l.Err = f.exchange(ctx, i, nil, &proto.StatFSReq{FS: f.cfg.ID}, &l.StatFSResp); l.Err == nil {
			l.NoCounts = f.count(ctx, i, l)
		}
		return nil
	})
	return loads
}

// count asks a server for its counters.
func (f *FS) count(ctx context.Context, server int, l *ServerLoad) error {
	var counters, timers proto.PerfMonResp
	if err := f.onServer(ctx, server, &proto.PerfMonReq{KeyCount: perfCounters, SampleCount: 1}, &counters); err != nil {
		return err
	}
	if len(counters.Values) < perfCounters {
		return proto.EPROTO
	}
	v := counters.Values
	l.BytesRead, l.BytesWritten, l.Running, l.Requests = natural(v[perfRead]), natural(v[perfWritten]), natural(v[perfRunning]), natural(v[perfRequests])
	keys := uint32(len(perfOperations))
	if err := f.onServer(ctx, server, &proto.PerfMonReq{Type: 1, KeyCount: keys, SampleCount: 1}, &timers); err != nil {
		return err
	}
	for i, name := range perfOperations {
		if at := i * perfTimerParts; at+perfTimerParts <= len(timers.Values) && i < int(timers.KeyCount) {
			v := timers.Values[at:]
			l.Operations = append(l.Operations, OperationLoad{name, natural(v[1]), time.Duration(natural(v[0])), time.Duration(natural(v[2])), time.Duration(natural(v[3]))})
		}
	}
	if r, err := f.ScrubReport(ctx, server, 0); err == nil {
		l.Scrub = &r
	}
	return nil
}

// natural is a counter that a server sends as a signed number.
func natural(n int64) uint64 { return uint64(max(n, 0)) }
