package rpc

import (
	"errors"
	"reflect"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/trace"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A tracer writes requests to the trace of the endpoint. A nil tracer writes nothing.
type tracer struct{ track *trace.Track }

// The kinds of events of a trace. Times are in microseconds. What a server does is called disk if it is neither waiting for the
// network nor for other servers: it is the storage, and the processor.
var (
	tracedCall = trace.Kind{
		Name: "call", Category: "pvfs client", Strs: [...]string{"peer", "handle", "result"},
		Nums: [...]string{"bytes", "tag", 5: ""},
	}
	tracedRequest = trace.Kind{
		Name: "request", Category: "pvfs server", Strs: [...]string{"peer", "handle", "result"},
		Nums: [...]string{"bytes", "tag", "queued_us", "disk_us", "network_us", "servers_us"},
	}
	tracedQueue = trace.Kind{Name: "queued", Category: "pvfs server"}
)

func newTracer(ep *bmi.Endpoint, name string) *tracer {
	t := ep.Trace()
	if t == nil {
		return nil
	}
	return &tracer{t.NewTrack(name, 0)}
}

func (t *tracer) close() {
	if t != nil {
		t.track.Close()
	}
}

// now is the time of the trace; 0 without one.
func (t *tracer) now() time.Duration {
	if t == nil {
		return 0
	}
	return t.track.Now()
}

// A tracedSpan is a call under way.
type tracedSpan struct {
	event trace.Event
	begun bool
}

// call begins a call; it returns nil if there is no trace.
func (t *tracer) call(to bmi.Addr, tag bmi.Tag, req proto.Request) *tracedSpan {
	if t == nil {
		return nil
	}
	s := new(tracedSpan)
	s.event = trace.Event{
		Kind: &tracedCall, Phase: trace.Begin, Name: req.Op().String(), ID: t.track.ShareID(), At: t.track.Now(),
		Nums: [...]int64{bytesOf(req), int64(tag), 5: 0}, Strs: [...]string{to.String(), handleOf(req), ""},
	}
	s.begun = t.track.Share(&s.event)
	return s
}

// returned ends a call.
func (t *tracer) returned(s *tracedSpan, bytes int64, err error) {
	if s == nil {
		return
	}
	e := &s.event
	e.Phase, e.End = trace.Whole, t.track.Now()
	if s.begun {
		e.Phase = trace.End
	}
	if bytes > 0 {
		e.Nums[0] = bytes
	}
	e.Strs[2] = resultOf(err)
	t.track.Share(e)
}

// A tracedWork has a server's times of a request for the trace. The handler and its goroutines add to them.
type tracedWork struct {
	came, began      time.Duration
	network, servers atomic.Int64 // ns
	outsideSince     time.Duration
	status           proto.Status
}

// request writes a request that has ended.
func (t *tracer) request(c *Call, bytes int64) {
	if t == nil || c.Request == nil {
		return
	}
	w, now := &c.traced, t.track.Now()
	network, servers := w.network.Load(), w.servers.Load()
	e := trace.Event{
		Kind: &tracedRequest, Phase: trace.Whole, Name: c.Request.Op().String(), ID: t.track.ShareID(), At: w.came, End: now,
		Nums: [...]int64{
			max(bytes, bytesOf(c.Request)), int64(c.Tag), micros(int64(w.began - w.came)),
			micros(int64(now-w.began) - network - servers), micros(network), micros(servers),
		},
		Strs: [...]string{c.Peer.String(), handleOf(c.Request), ""},
	}
	if w.status != proto.OK {
		e.Strs[2] = w.status.Name()
	}
	t.track.Share(&e)
	t.track.Share(&trace.Event{Kind: &tracedQueue, Phase: trace.Whole, ID: e.ID, At: w.came, End: w.began})
}

func micros(ns int64) int64 { return max(ns, 0) / 1000 }

// handleOf is the object that a request is about, as text, because a number in JSON is not exact; "" if it names none.
func handleOf(req proto.Request) string {
	v := reflect.Indirect(reflect.ValueOf(req))
	if v.Kind() != reflect.Struct {
		return ""
	}
	for _, name := range [...]string{"Handle", "Object", "Dir", "Parent"} {
		if f := v.FieldByName(name); f.IsValid() && f.Type() == reflect.TypeFor[proto.Handle]() {
			return strconv.FormatUint(f.Uint(), 10)
		}
	}
	return ""
}

// bytesOf is how many bytes of a file a request has in it.
func bytesOf(req proto.Request) int64 {
	if r, ok := req.(*proto.SmallIOReq); ok {
		return int64(len(r.Data))
	}
	return 0
}

// bytesIn is how many bytes of a file a response has in it.
func bytesIn(resp proto.Response) int64 {
	if r, ok := resp.(*proto.SmallIOResp); ok {
		return int64(len(r.Data))
	}
	return 0
}

// resultOf is the result of a call as text: a status, or the kind of failure.
func resultOf(err error) string {
	if err == nil {
		return ""
	}
	if status, ok := err.(proto.Status); ok {
		return status.Name()
	}
	for _, kind := range []error{ErrTimeout, ErrNotSent, ErrNoAnswer, ErrBadAnswer, ErrClosed} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}
