package rpc

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A slot is one message of a flow at the server, with its buffer.
type slot struct {
	op
	buf []byte
}

// A stream is a flow under way at the server. Message i is in slot i modulo their number.
type stream struct {
	c          *Call
	pump       *pump
	slots      []slot
	size       int64 // of a message, bytes
	total      int64 // bytes
	count      int64 // messages
	next, done int64 // 0 ≤ done ≤ next ≤ count, next - done ≤ len(slots)
}

// ReceiveFlow answers an IO request with resp and receives total bytes, which it hands to sink
// in order, piece by piece, each with its place in the flow. The pieces are sink's only during
// the call. An error of sink is returned after the rest of the data came and went; the client
// is waiting for its completion then, as after success: the handler goes on with Reply or Fail.
// If the flow failed in another way (errors.Is ErrFlow), nothing more can be sent, and Fail does
// nothing. It returns how many bytes sink took.
func (c *Call) ReceiveFlow(resp *proto.IOResp, total int64, sink func(b []byte, at int64) error) (int64, error) {
	f, err := c.stream(total)
	if err != nil {
		return 0, err
	}
	defer f.end()
	for f.next < f.count && f.next < int64(len(f.slots)) {
		if err := f.recv(); err != nil {
			return 0, err // the client has no answer yet
		}
	}
	c.greet(resp)
	taken, failed := int64(0), error(nil)
	for f.done < f.count {
		at, want := f.done*f.size, f.length(f.done)
		b, err := f.arrived(want)
		if err != nil {
			return taken, f.broken(err)
		}
		if failed == nil {
			if failed = f.safely(sink, b, at); failed == nil {
				taken += int64(want)
			}
		}
		f.done++
		if f.next < f.count {
			if err := f.recv(); err != nil {
				return taken, f.broken(err)
			}
		}
	}
	c.worker.s.count.bytesIn.Add(uint64(total))
	c.state = callReceived
	return taken, failed
}

// SendFlow answers an IO request with resp and sends total bytes, which source fills in, in
// order, piece by piece. It reads the first piece before it answers: if source fails there
// nothing was answered yet, and Fail may be used. It returns when all is sent.
func (c *Call) SendFlow(resp *proto.IOResp, total int64, source func(b []byte, at int64) error) (int64, error) {
	f, err := c.stream(total)
	if err != nil {
		return 0, err
	}
	defer f.end()
	if f.count > 0 {
		if err := f.fill(source); err != nil {
			return 0, err
		}
	}
	c.greet(resp)
	var failed error
	for f.done < f.count && failed == nil {
		for f.next < f.count && f.next-f.done < int64(len(f.slots)) {
			if f.next > 0 {
				if failed = f.fill(source); failed != nil {
					break
				}
			}
			if err := f.send(f.length(f.next)); err != nil {
				return 0, f.broken(err)
			}
		}
		if err := f.sent(); err != nil {
			return 0, f.broken(err)
		}
	}
	if failed != nil {
		return f.done * f.size, f.breakOff(failed)
	}
	c.worker.s.count.bytesOut.Add(uint64(total))
	c.state = callAnswered
	return total, nil
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
	f := &stream{c: c, pump: pump, size: size, total: total, count: (total + size - 1) / size}
	f.slots = s.buffers.take(c.Peer, c.worker.slots[:0], int(min(f.count, int64(s.opt.FlowBuffers))))
	return f, nil
}

// needPump gives a worker what moves its flows.
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

// end gives the buffers back once nothing uses them.
func (f *stream) end() {
	for i := range f.slots {
		f.pump.cancel(&f.slots[i].op)
	}
	f.pump.settle()
	f.c.worker.s.buffers.give(f.c.Peer, f.slots)
	f.c.worker.slots = f.slots[:0]
	if f.c.state == callFlowing { // a panic
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

// length is that of a message.
func (f *stream) length(i int64) int { return int(min(f.size, f.total-i*f.size)) }

// recv posts the receive of the next message. It has the room of a whole buffer, so that a
// message that is too long shows.
func (f *stream) recv() error {
	sl := f.slot(f.next)
	if err := f.pump.recv(&sl.op, f.c.Peer, f.c.Tag, sl.buf); err != nil {
		return err
	}
	f.next++
	return nil
}

// arrived waits for the oldest message.
func (f *stream) arrived(want int) ([]byte, error) {
	sl := f.slot(f.done)
	if err := f.wait(sl); err != nil {
		return nil, err
	}
	if sl.size != want {
		return nil, shortOf(sl.size, want)
	}
	return sl.buf[:want], nil
}

// wait waits for the end of a message: as long as a flow may be silent, or, once other flows wait for
// their turn, as long as it may be silent then. A client that gave a write up does not say so.
func (f *stream) wait(sl *slot) error {
	s := f.c.worker.s
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
	return sl.err
}

// fill reads the next message.
func (f *stream) fill(source func([]byte, int64) error) error {
	return f.safely(source, f.slot(f.next).buf[:f.length(f.next)], f.next*f.size)
}

// send posts the first n bytes of the next message.
func (f *stream) send(n int) error {
	sl := f.slot(f.next)
	if err := f.pump.send(&sl.op, f.c.Peer, f.c.Tag, sl.buf[:n]); err != nil {
		return err
	}
	f.next++
	return nil
}

// sent takes what was sent, and waits for the oldest message if the window is full or
// everything is posted.
func (f *stream) sent() error {
	for f.done < f.next {
		sl := f.slot(f.done)
		if sl.pending && f.next < f.count && f.next-f.done < int64(len(f.slots)) {
			return nil
		}
		if err := f.wait(sl); err != nil {
			return err
		}
		f.done++
	}
	return nil
}

// breakOff tells the client that there will be no more, with an empty message.
func (f *stream) breakOff(cause error) error {
	err := f.send(0)
	for err == nil && f.done < f.next {
		err = f.wait(f.slot(f.done))
		f.done++
	}
	return f.broken(errors.Join(cause, err))
}

// broken notes that the flow failed; the client gets no further answer.
func (f *stream) broken(err error) error {
	s := f.c.worker.s
	s.count.flowsFailed.Add(1)
	f.c.state = callBroken
	s.opt.Log.Debug("pvfs: a flow failed", "peer", f.c.Peer.String(), "bytes", f.total, "messages", f.done, "of", f.count, "err", err)
	return fmt.Errorf("%w: after %d of %d messages: %w", ErrFlow, f.done, f.count, err)
}

// safely calls a sink or source; its panic is an error, so that the flow goes on in order.
func (f *stream) safely(do func([]byte, int64) error, b []byte, at int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s := f.c.worker.s
			s.count.panics.Add(1)
			s.opt.Log.Error("pvfs: a flow made its handler panic", "peer", f.c.Peer.String(), "panic", p, "stack", string(debug.Stack()))
			err = proto.EIO
		}
	}()
	return do(b, at)
}
