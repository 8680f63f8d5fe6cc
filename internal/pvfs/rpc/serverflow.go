package rpc

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A slot is one message of a flow at the server, with its buffer.
type slot struct {
	op
	buf  []byte
	part bmi.FileRange // for a message that is sent from a file, else zero
}

// A stream is a flow under way at the server. Message i is in slot i modulo their number.
type stream struct {
	c          *Call
	pump       *pump
	slots      []slot
	size       int64 // of a message, bytes
	total      int64 // bytes
	count      int64 // messages, if all but the last have full length
	next, done int64 // 0 ≤ done ≤ next, next - done ≤ len(slots); messages below next are posted, those below done have completed
	sends      bool  // SendFlow
	files      bool  // messages can be sent from files
}

// ReceiveFlow answers an IO request with resp and receives total bytes. It passes them to sink in order, each piece with its
// offset in the flow. sink may use a piece only during the call. If sink fails, ReceiveFlow receives the remaining data and then
// returns the error. The client then waits for its completion, as after success, so the handler goes on with Reply or Fail. If
// the flow failed in another way (errors.Is ErrFlow), nothing more can be sent, and Fail does nothing. The result is the number
// of bytes that sink took.
func (c *Call) ReceiveFlow(resp *proto.IOResp, total int64, sink func(b []byte, at int64) error) (int64, error) {
	f, err := c.stream(total)
	if err != nil {
		return 0, err
	}
	defer f.end()
	for i := range f.slots {
		if !f.buffer(&f.slots[i]) {
			f.slots = f.slots[:i]
			break
		}
	}
	if err := f.recvMore(total); err != nil {
		return 0, err // the client has no answer yet
	}
	c.greet(resp)
	taken, failed := int64(0), error(nil)
	for at := int64(0); at < total; {
		b, err := f.arrived(total - at)
		if err != nil {
			return taken, f.broken(err)
		}
		if failed == nil {
			if failed = f.safely(func() error { return sink(b, at) }); failed == nil {
				taken += int64(len(b))
			}
		}
		f.done++
		at += int64(len(b))
		c.worker.moved.Store(at)
		if err := f.recvMore(total - at); err != nil {
			return taken, f.broken(err)
		}
	}
	c.worker.s.count.bytesIn.Add(uint64(total))
	c.state = callReceived
	return taken, failed
}

// stream prepares a flow.
func (c *Call) stream(total int64) (*stream, error) {
	s := c.worker.s
	if c.state != callOpen {
		return nil, fmt.Errorf("%w: the request was answered before", bmi.ErrInvalid)
	}
	if total < 0 {
		return nil, fmt.Errorf("%w: %d bytes", bmi.ErrInvalid, total)
	}
	pump, err := c.worker.needPump()
	if err != nil {
		return nil, err
	}
	size := int64(s.opt.FlowBufferSize)
	f := &stream{c: c, pump: pump, size: size, total: total, count: messagesOf(total, size)}
	c.worker.moved.Store(0)
	c.worker.total.Store(total)
	n := int(min(f.count, int64(s.opt.FlowBuffers)))
	f.slots = slices.Grow(c.worker.slots[:0], n)[:n]
	clear(f.slots)
	return f, nil
}

// messagesOf is the number of messages of a flow. total comes from the client.
func messagesOf(total, size int64) int64 {
	n := total / size
	if total%size != 0 {
		n++
	}
	return n
}

// buffer gives a slot a buffer: the buffer of an idle slot, or a new one if the limit allows. A flow has at least one.
func (f *stream) buffer(sl *slot) bool {
	if sl.buf != nil {
		return true
	}
	none := true
	for i := range f.slots {
		other := &f.slots[i]
		if other.buf == nil {
			continue
		}
		if none = false; f.sends && !other.pending {
			sl.buf, other.buf = other.buf, nil
			return true
		}
	}
	sl.buf = f.c.worker.s.buffers.take(f.c.Peer, none)
	return sl.buf != nil
}

// needPump returns the worker's pump, which it makes at the first flow.
func (w *worker) needPump() (*pump, error) {
	if w.pump == nil {
		p, err := newPump(w.s.ep)
		if err != nil {
			return nil, err
		}
		w.pump = p
		w.s.mu.Lock()
		defer w.s.mu.Unlock()
		w.s.pumps[p] = struct{}{}
		if w.s.abort {
			p.halted.Store(true)
		}
	}
	return w.pump, nil
}

// end gives the buffers back after all operations have ended.
func (f *stream) end() {
	for i := range f.slots {
		f.pump.cancel(&f.slots[i].op)
	}
	f.pump.settle()
	f.c.worker.s.buffers.give(f.c.Peer, f.slots)
	clear(f.slots) // drop the references to files
	f.c.worker.slots = f.slots[:0]
	if f.c.state == callFlowing { // the handler panicked
		f.c.state = callBroken
	}
}

// greet sends the response of the IO request.
func (c *Call) greet(resp *proto.IOResp) {
	rb := c.worker.s.replies.buffer()
	rb.b = proto.AppendResponse(rb.b, resp)
	c.worker.s.replies.send(c.Peer, c.Tag, rb)
	c.state = callFlowing
}

func (f *stream) slot(i int64) *slot { return &f.slots[i%int64(len(f.slots))] }

// length is the length of a message.
func (f *stream) length(i int64) int { return int(min(f.size, f.total-i*f.size)) }

// recvMore posts receives, but not more than the messages that left bytes need at least.
func (f *stream) recvMore(left int64) error {
	most := min(messagesOf(left, f.size), int64(len(f.slots)))
	for f.next-f.done < most {
		if err := f.recv(); err != nil {
			return err
		}
	}
	return nil
}

// recv posts the receive of the next message. Its buffer has full length, so that a message that is too long is noticed.
func (f *stream) recv() error {
	sl := f.slot(f.next)
	if err := f.pump.recv(&sl.op, f.c.Peer, f.c.Tag, sl.buf); err != nil {
		return err
	}
	f.next++
	return nil
}

// arrived waits for the oldest message, when left bytes are to come. A client may send shorter messages than FlowBufferSize.
func (f *stream) arrived(left int64) ([]byte, error) {
	sl := f.slot(f.done)
	if err := f.wait(sl); err != nil {
		return nil, err
	}
	if n := int64(sl.size); n > left || n < min(left, f.size, flowMessageBytesMin) {
		return nil, shortOf(sl.size, int(min(left, f.size)))
	}
	return sl.buf[:sl.size], nil
}

// wait waits until a message completes. The limit is FlowTimeout without progress, or FlowPatience while other flows wait for a
// place. A client that gave up a write does not say so.
func (f *stream) wait(sl *slot) error {
	s := f.c.worker.s
	if s.trace != nil {
		since := s.trace.now()
		defer func() { f.c.traced.network.Add(int64(s.trace.now() - since)) }()
	}
	moved := time.Now()
	for sl.pending {
		patience := s.opt.FlowPatience
		if limit := s.opt.FlowTimeout; limit >= 0 {
			patience = max(min(patience, limit-time.Since(moved)), 0)
		}
		err := f.pump.wait(after(patience))
		switch {
		case err == nil:
			moved = time.Now()
		case !errors.Is(err, ErrTimeout):
			return err
		case s.opt.FlowTimeout >= 0 && time.Since(moved) >= s.opt.FlowTimeout:
			return err
		case time.Since(moved) >= s.opt.FlowPatience && s.flowsWait():
			return fmt.Errorf("%w, and others wait for its place", err)
		}
	}
	if f.pump.halted.Load() { // the log has reported it as cut off, so it ends here even if its next message has just arrived
		return errHalted
	}
	return sl.err
}

// misfit handles a write whose messages have wrong lengths. The rest of the write would block everything behind it, so the
// connection is closed.
func (f *stream) misfit(err error) {
	s := f.c.worker.s
	s.opt.Refusals.Note(refusal.BadFlow, s.origin(f.c.Peer), "bytes of a message here", f.size, "err", err,
		"so", "the client was disconnected; both sides need the same FlowBufferSizeBytes")
	_ = s.ep.DropAddr(f.c.Peer) // it may be closed already
}

// broken records that the flow failed. The client gets no further answer.
func (f *stream) broken(err error) error {
	s := f.c.worker.s
	s.count.flowsFailed.Add(1)
	f.c.state = callBroken
	switch {
	case errors.Is(err, errMisfit) || errors.Is(err, bmi.ErrTruncated):
		f.misfit(err)
	case errors.Is(err, ErrTimeout):
		s.opt.Refusals.Note(refusal.SilentFlow, s.origin(f.c.Peer), "messages", f.done, "of", f.count, "err", err)
	}
	s.opt.Log.Debug("pvfs: a flow failed", "peer", f.c.Peer.String(), "bytes", f.total, "messages", f.done, "of", f.count, "err", err)
	return fmt.Errorf("%w: after %d of %d messages: %w", ErrFlow, f.done, f.count, err)
}

// safely calls a sink or source. A panic becomes an error, so that the flow ends in order.
func (f *stream) safely(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s := f.c.worker.s
			s.count.panics.Add(1)
			s.opt.Log.Error("pvfs: a flow made its handler panic", "peer", f.c.Peer.String(), "panic", p, "stack", string(debug.Stack()))
			err = proto.EIO
		}
	}()
	return do()
}
