// Package refusal counts the requests that a file server refuses, by reason, and logs them at a limited rate. A client can cause
// any number of refusals, and must not fill the log.
package refusal

import (
	"log/slog"
	"math"
	"sync/atomic"
	"time"
)

// A Reason is why a server refused a request, delayed it, or ended a transfer.
type Reason uint8

// The reasons. docs/reference/pvfs.md explains them.
const (
	Network          Reason = iota // the client's network or port is not trusted
	ReadOnly                       // a change by a client with read-only access
	Authentication                 // a credential without the required signature or certificate
	ForgedCapability               // a capability that no server of the file system has issued
	OldCapability                  // a capability that has expired, or was withdrawn
	OldCredential                  // a credential that has expired
	NoRight                        // a right that the user does not have
	AdminMode                      // a change while an administrator has stopped changes
	Malformed                      // a request that does not decode
	QueueFull                      // a request of a host or client with too many waiting requests
	SlowWalk                       // a request of very many short regions, which had to wait for CPU time
	SilentFlow                     // a transfer without progress for too long
	BadFlow                        // a transfer whose messages have wrong lengths
	Unanswered                     // an answer that its client did not take
	CutOff                         // a request or transfer that had not ended when the server stopped
	Reasons          = int(iota)
)

// A kind is the name of a reason, and how it is logged.
type kind struct {
	name  string
	quiet bool // counted here, but not logged
}

var kinds = [Reasons]kind{
	Network:          {name: "network or port not trusted"},
	ReadOnly:         {name: "change by a client that may only read"},
	Authentication:   {name: "authentication failed"},
	ForgedCapability: {name: "forged capability"},
	OldCapability:    {name: "expired or withdrawn capability", quiet: true},
	OldCredential:    {name: "expired credential"},
	NoRight:          {name: "no right", quiet: true},
	AdminMode:        {name: "change in admin mode", quiet: true},
	Malformed:        {name: "malformed request"},
	QueueFull:        {name: "too many requests waiting"},
	SlowWalk:         {name: "request of many short regions held back"},
	SilentFlow:       {name: "silent transfer ended"},
	BadFlow:          {name: "transfer with messages of a wrong length"},
	Unanswered:       {name: "answer not taken", quiet: true},
	CutOff:           {name: "cut off when the server stopped", quiet: true},
}

// String is the name of the reason in statistics and in the log.
func (r Reason) String() string { return kinds[r].name }

// LogEvery is the shortest time between two log lines about one reason.
const LogEvery = 10 * time.Second

// A Counter counts refusals. Its methods may be called by any goroutine.
type Counter struct {
	log   *slog.Logger
	clock func() time.Time
	of    [Reasons]count
}

type count struct {
	all, unlogged atomic.Uint64
	logged        atomic.Int64 // time of the last line, in Unix nanoseconds
}

// New makes a counter that writes to a log.
func New(log *slog.Logger, clock func() time.Time) *Counter {
	c := &Counter{log: log, clock: clock}
	for i := range c.of {
		c.of[i].logged.Store(math.MinInt64)
	}
	return c
}

// Add counts a refusal and logs nothing.
func (c *Counter) Add(r Reason) { c.of[r].all.Add(1) }

// Note counts a refusal of a client. It logs it, unless another one with this reason was logged in the last LogEvery. args are
// for the log.
func (c *Counter) Note(r Reason, client string, args ...any) {
	n := &c.of[r]
	n.all.Add(1)
	if kinds[r].quiet {
		return
	}
	now, last := c.clock().UnixNano(), n.logged.Load()
	if last != math.MinInt64 && now-last < int64(LogEvery) || !n.logged.CompareAndSwap(last, now) {
		n.unlogged.Add(1)
		return
	}
	c.log.Warn("pvfs: "+r.String(), append([]any{"client", client, "not logged before", n.unlogged.Swap(0)}, args...)...)
}

// Count is the number of refusals for a reason.
func (c *Counter) Count(r Reason) uint64 { return c.of[r].all.Load() }
