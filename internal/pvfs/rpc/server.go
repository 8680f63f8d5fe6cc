package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/seldom"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Handler carries out one request, and answers it with Reply or Fail before it returns. If it does not, or if it panics, the
// client is answered EIO. The handler does not use the Call after it returns. The Request may point into the message
// (SmallIOReq.Data).
type Handler func(c *Call)

// A Server receives the requests of an endpoint. Its workers take turns: one at a time waits for requests. It makes another one
// wait in its place, and carries out the request that it got itself. So a request moves to another goroutine only if there is
// much to do.
type Server struct {
	ep     *bmi.Endpoint
	handle Handler
	opt    ServerOptions
	trace  *tracer

	base    context.Context // of all calls
	cancel  context.CancelFunc
	replies replies
	buffers flowBuffers
	count   counters
	slow    *slog.Logger // opt.Log, for slow requests alone
	served  atomic.Bool

	mu       sync.Mutex
	kinds    [kinds]kind
	outside  int    // handlers that wait for another server
	leading  bool   // a worker waits for requests
	turn     uint64 // counts how often a worker has started to wait
	standIn  standIn
	stopping bool // no more requests are to be received
	drained  bool // the requests that had arrived are in the backlogs
	failed   error
	idle     []*worker
	workers  int
	all      map[*worker]struct{}
	changed  sync.Cond // drained, workers or kinds
	abort    bool      // all flows shall end
	pumps    map[*pump]struct{}
}

// A kind is a class of requests with a limit of its own.
type kind struct {
	backlog
	places
}

const (
	kindPlain = iota // without a flow
	kindFlow
	kinds
)

// A worker is one goroutine and its reusable memory.
type worker struct {
	s     *Server
	wake  chan struct{} // capacity 1
	batch [messagesAtOnce]bmi.Unexpected
	pump  *pump // for flows; nil until the first
	slots []slot

	// The request under way; the server's lock protects doing, peer and op.
	doing        bool
	peer         bmi.Addr
	op           proto.Op
	moved, total atomic.Int64 // bytes of its flow, if it has one
}

// NewServer makes a server for the unexpected messages of class 0 of ep. ep must have no handler for them.
func NewServer(ep *bmi.Endpoint, handle Handler, opt ServerOptions) *Server {
	s := &Server{ep: ep, handle: handle, opt: opt.withDefaults(), pumps: make(map[*pump]struct{}), all: make(map[*worker]struct{})}
	s.base, s.cancel = context.WithCancel(context.Background())
	s.changed.L = &s.mu
	began := time.Now()
	s.slow = slog.New(seldom.Handler(s.opt.Log.Handler(), slog.LevelWarn, func() time.Duration { return time.Since(began) }))
	s.trace = newTracer(ep, "requests")
	s.standIn.timer = time.AfterFunc(time.Hour, s.lookForLeader)
	s.standIn.timer.Stop()
	s.kinds[kindPlain] = kind{newBacklog(ep.SourceAddr), places{most: s.opt.Workers}}
	s.kinds[kindFlow] = kind{newBacklog(ep.SourceAddr), places{most: s.opt.Flows}}
	s.buffers = flowBuffers{ep: ep, size: s.opt.FlowBufferSize, most: s.opt.FlowMemory}
	return s
}

// Serve receives requests until ctx ends. Then it carries out those that have arrived, for DrainTime at most, and returns nil. It
// returns an error if the endpoint is closed before, or if handlers do not return although the contexts of their calls have
// ended. It is called once.
func (s *Server) Serve(ctx context.Context) error {
	if s.served.Swap(true) {
		return fmt.Errorf("internal/pvfs/rpc: %w: Serve was called before", ErrClosed)
	}
	defer s.cancel()
	if err := s.replies.open(s); err != nil {
		return err
	}
	defer s.replies.close()
	s.mu.Lock()
	s.wakeLocked()
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, s.stop)
	defer stop()
	err := s.drain()
	s.standIn.timer.Stop()
	s.buffers.free()
	s.trace.close()
	return err
}

// wakeLocked makes one more worker look for work, if the limits allow.
func (s *Server) wakeLocked() {
	if n := len(s.idle); n > 0 {
		w := s.idle[n-1]
		s.idle = s.idle[:n-1]
		w.wake <- struct{}{}
		return
	}
	if s.workers < 2*(s.opt.Workers+s.opt.Flows)+s.opt.Outside+1 {
		s.workers++
		w := &worker{s: s, wake: make(chan struct{}, 1)}
		s.all[w] = struct{}{}
		go w.work()
	}
}

// work is the loop of a worker.
func (w *worker) work() {
	s := w.s
	s.mu.Lock()
	for {
		if k, m, ok := s.nextLocked(); ok {
			w.carryOut(k, m)
			continue
		}
		switch {
		case s.mayLeadLocked():
			w.lead()
		case s.drained && s.backlogLocked() == 0:
			w.leave()
			return
		default:
			s.idle = append(s.idle, w)
			s.mu.Unlock()
			<-w.wake
			s.mu.Lock()
		}
	}
}

// leave ends a worker, and wakes another idle one, so that it ends, too.
func (w *worker) leave() {
	s := w.s
	s.workers--
	delete(s.all, w)
	if len(s.idle) > 0 {
		s.wakeLocked()
	}
	if w.pump != nil {
		delete(s.pumps, w.pump)
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	if w.pump != nil {
		_ = w.pump.ctx.Close() // nothing is pending
	}
}

// nextLocked returns a request that may be carried out now.
func (s *Server) nextLocked() (int, arrival, bool) {
	for i := range s.kinds {
		k := &s.kinds[i]
		if m, ok := k.take(k.places); ok {
			k.running++
			return i, m, true
		}
	}
	return 0, arrival{}, false
}

// backlogLocked is the number of waiting requests.
func (s *Server) backlogLocked() int { return s.kinds[kindPlain].n + s.kinds[kindFlow].n }

// flowsWait reports whether requests with a flow wait because Options.Flows of them are in progress.
func (s *Server) flowsWait() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := &s.kinds[kindFlow]
	return k.n > 0 && k.running >= k.most/2
}

func (s *Server) mayLeadLocked() bool {
	return !s.leading && !s.drained && s.backlogLocked() < s.opt.Queue
}

// lead waits for requests, and puts them into the backlogs. It releases the lock while it waits.
func (w *worker) lead() {
	s := w.s
	s.leading = true
	s.turn++
	wait := leadTime
	if s.stopping {
		wait = 0
	}
	s.mu.Unlock()
	n, err := s.ep.TestUnexpectedClass(0, w.batch[:], wait)
	var refused []bmi.Unexpected
	now := s.trace.now()
	s.mu.Lock()
	s.leading = false
	for i := range w.batch[:n] {
		m := w.batch[i]
		w.batch[i] = bmi.Unexpected{}
		if !s.kinds[kindOf(m.Data)].put(arrival{m, now}, s.opt.QueuePerClient, s.opt.Queue) {
			refused = append(refused, m)
		}
	}
	if err != nil && n == 0 {
		if !s.stopping {
			s.failed = fmt.Errorf("internal/pvfs/rpc: serving ended: %w", err)
		}
		s.stopping = true
	}
	if s.stopping && n == 0 {
		s.drained = true
		s.changed.Broadcast()
	}
	if len(refused) == 0 {
		return
	}
	s.mu.Unlock()
	for i := range refused {
		s.refuse(&refused[i])
	}
	s.mu.Lock()
}

// kindOf is the kind of a request, by its first bytes.
func kindOf(b []byte) int {
	if len(b) >= opAt+4 && opOf(b) == proto.OpIO {
		return kindFlow
	}
	return kindPlain
}

// carryOut runs the handler for a request. It releases the lock while the handler runs.
func (w *worker) carryOut(k int, m arrival) {
	s := w.s
	switch {
	case s.backlogLocked() > 0:
		s.wakeLocked()
	case s.leading:
	case s.opt.Brief(opOrNone(m.Data)):
		s.standIn.awaitLocked(s.turn)
	default:
		s.wakeLocked()
	}
	from := m.From
	w.doing, w.peer, w.op = true, from, opOrNone(m.Data)
	w.total.Store(0)
	s.mu.Unlock()
	w.run(&m)
	m.Release()
	s.mu.Lock()
	w.doing = false
	s.kinds[k].running--
	s.kinds[k].done(from)
}

// stepOut stops counting a handler that waits for another server. It reports false if too many do so already.
func (s *Server) stepOut(k int, client bmi.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outside >= s.opt.Outside {
		return false
	}
	s.outside++
	s.kinds[k].running--
	s.kinds[k].count(client, -1)
	if s.kinds[k].n > 0 || !s.leading {
		s.wakeLocked()
	}
	return true
}

// stepIn counts it again. The limit may be exceeded for a moment.
func (s *Server) stepIn(k int, client bmi.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outside--
	s.kinds[k].running++
	s.kinds[k].count(client, 1)
}
