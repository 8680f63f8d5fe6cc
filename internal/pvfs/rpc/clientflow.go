package rpc

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Flow is one IO request and the memory for its bytes.
type Flow struct {
	To      bmi.Addr
	Header  *proto.Header
	Request *proto.IOReq // WriteFlow and ReadFlow set its Type and Flow

	// Total is how many bytes of the datafile belong to the request: the sum over Memory.
	Total int64
	// Memory yields the pieces of memory in the order of their offsets in the datafile. One goroutine iterates over it, once. See
	// Bytes.
	Memory iter.Seq[[]byte]
	// Below is how many of the Total bytes are below a size of the datafile. A server sends as many from a datafile of this size.
	// nil: the bytes are one run that begins at Offset.
	Below func(size int64) int64
	// Offset is the offset of the bytes in the datafile. It is used only if Below is nil.
	Offset int64

	// BufferSize and Buffers replace Options.FlowBufferSize and FlowBuffers, if not 0.
	BufferSize, Buffers int
}

// Bytes is the Memory of a flow whose bytes are contiguous.
func Bytes(b []byte) iter.Seq[[]byte] { return func(yield func([]byte) bool) { yield(b) } }

// FlowResult is the result of a flow.
type FlowResult struct {
	Size  int64 // of the datafile: before a write, now for a read
	Moved int64 // bytes written, or read into the first pieces of Memory
}

// WriteFlow writes the bytes of Memory to a datafile, without a copy. They must not change until it returns. After an error, some
// bytes may have been written. Errors are as for Call.
func (c *Caller) WriteFlow(ctx context.Context, f *Flow) (FlowResult, error) {
	return c.flow(ctx, f, proto.IOWrite)
}

// ReadFlow reads bytes of a datafile directly into Memory, up to the end of the datafile. Without an error, memory beyond Moved
// is unchanged. Errors are as for Call; after an error, bytes may have been written anywhere in Memory.
func (c *Caller) ReadFlow(ctx context.Context, f *Flow) (FlowResult, error) {
	return c.flow(ctx, f, proto.IORead)
}

func (c *Caller) flow(ctx context.Context, f *Flow, direction proto.IOType) (FlowResult, error) {
	notSent := func(err error) (FlowResult, error) {
		return FlowResult{}, &CallError{Op: proto.OpIO, Peer: f.To.String(), Kind: ErrNotSent, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return notSent(err)
	}
	if f.Total < 0 || f.Memory == nil && f.Total > 0 {
		return notSent(fmt.Errorf("%w: a flow of %d bytes", bmi.ErrInvalid, f.Total))
	}
	s, err := c.take()
	if err != nil {
		return notSent(err)
	}
	defer outside(ctx)()
	stop := s.watch(ctx)
	r := transfer{session: s, flow: f, direction: direction, size: int64(f.BufferSize), tag: nextTag()}
	if r.size <= 0 {
		r.size = int64(c.opt.FlowBufferSize)
	}
	span := c.trace.call(f.To, r.tag, f.Request)
	result, err := r.run()
	c.trace.returned(span, result.Moved, err)
	s.unwatch(stop)
	if err != nil && !isStatus(err) {
		err = s.failed(ctx, f.To, proto.OpIO, err, r.kind) // before the session is used by another call
	}
	c.finish(s)
	return result, err
}

// A transfer is a flow under way at the client.
type transfer struct {
	*session
	flow      *Flow
	direction proto.IOType
	tag       bmi.Tag
	size      int64 // of a message
	count     int64 // of messages
	total     int64 // bytes to move
	// Messages below next are posted, those below done have completed: 0 ≤ done ≤ next ≤ count and next - done ≤ len(parts).
	next, done int64
	kind       error // of an error; nil: it depends on how far the request got
}

// A part is one message of a flow under way.
type part struct {
	op
	list   [][]byte
	bounce []byte // used in place of list if that has too many pieces
	kept   []byte // backs bounce
}

// run carries out the whole flow. When it returns, none of the caller's memory is lent.
func (t *transfer) run() (FlowResult, error) {
	s, f := t.session, t.flow
	s.sent, s.answered, s.completed = op{}, op{}, op{}
	t.total = f.Total
	t.count = (f.Total + t.size - 1) / t.size
	s.reserve(t.window())
	if f.Memory != nil {
		s.cut.begin(f.Memory, s.caller.maxPieces(f.To))
		defer s.cut.end()
	}
	req := *f.Request
	req.Type, req.Flow = t.direction, proto.FlowMultiqueue
	t.kind = ErrNotSent
	if err := s.encode(f.Header, &req); err != nil {
		return FlowResult{}, err
	}
	err := t.begin()
	if err == nil {
		t.kind = nil
		err = s.await(after(s.caller.opt.Timeout))
	}
	if err != nil {
		t.stop()
		if givenUp(err) {
			s.left = leftover{from: f.To, tag: t.tag}
			if t.direction == proto.IORead {
				s.left.parts, s.left.expect, s.left.size = t.count, t.expected, int(t.size)
			}
		}
		return FlowResult{}, err
	}
	var resp proto.IOResp
	if err := decode(s.room(0)[:s.answered.size], &resp); err != nil {
		t.stop()
		s.cancel(&s.completed)
		t.kind = ErrBadAnswer
		return FlowResult{}, err
	}
	if t.direction == proto.IOWrite {
		moved, err := t.write()
		return FlowResult{Size: resp.Size, Moved: moved}, err
	}
	moved, err := t.read(resp.Size)
	return FlowResult{Size: resp.Size, Moved: moved}, err
}

// begin posts receives for everything that the server may send at once, and then the request.
func (t *transfer) begin() error {
	s := t.session
	if err := s.recv(&s.answered, t.flow.To, t.tag, s.room(0)); err != nil {
		return err
	}
	if t.direction == proto.IOWrite {
		if err := s.recv(&s.completed, t.flow.To, t.tag, s.completion[:]); err != nil {
			return err
		}
	}
	for t.direction == proto.IORead && t.next < t.count && t.next < int64(len(s.parts)) {
		if err := t.postRecv(); err != nil {
			return err
		}
	}
	return s.dispatch(t.flow.To, t.tag)
}

// window is how many messages are posted at once.
func (t *transfer) window() int {
	n := t.flow.Buffers
	if n <= 0 {
		n = t.caller.opt.FlowBuffers
	}
	return int(min(int64(min(n, flowBuffersMax)), t.count))
}

// part is the part of a message.
func (t *transfer) part(i int64) *part { return &t.parts[i%int64(len(t.parts))] }

// length is the length of a message, if total bytes move in all.
func (t *transfer) length(i int64) int { return int(min(t.size, t.total-i*t.size)) }

// write sends the data and waits for the completion.
func (t *transfer) write() (int64, error) {
	s := t.session
	for t.done < t.count && !t.over() {
		if err := t.sendMore(); err != nil {
			return 0, t.broken(err)
		}
		for t.done < t.next && !t.part(t.done).pending {
			if err := t.part(t.done).err; err != nil {
				return 0, t.broken(err)
			}
			t.done++
		}
		if t.done < t.next {
			if err := s.wait(s.silence()); err != nil {
				return 0, t.broken(err)
			}
		}
	}
	if t.done < t.count {
		t.stop() // the server ended the flow early
	}
	for s.completed.pending {
		if err := s.wait(s.silence()); err != nil {
			return 0, t.broken(err)
		}
	}
	if s.completed.err != nil {
		return 0, s.completed.err
	}
	var resp proto.WriteCompletionResp
	if err := decode(s.completion[:s.completed.size], &resp); err != nil {
		t.kind = ErrBadAnswer
		return 0, err
	}
	if resp.Written != t.flow.Total {
		t.kind = ErrBadAnswer
		return resp.Written, fmt.Errorf("the server wrote %d bytes of %d", resp.Written, t.flow.Total)
	}
	return resp.Written, nil
}

// over reports whether the completion has arrived.
func (t *transfer) over() bool { return !t.completed.pending }

// sendMore posts sends until the window is full.
func (t *transfer) sendMore() error {
	for t.next < t.count && t.next-t.done < int64(len(t.parts)) {
		p := t.part(t.next)
		list, err := t.cut.take(t.length(t.next), p, true)
		if err != nil {
			return err
		}
		posted, err := t.ctx.PostSendList(t.flow.To, t.tag, list, &p.op)
		if err := t.begun(&p.op, posted, err); err != nil {
			return err
		}
		t.next++
	}
	return nil
}

// postRecv posts the receive of the next message.
func (t *transfer) postRecv() error {
	p := t.part(t.next)
	list, err := t.cut.take(t.length(t.next), p, false)
	if err != nil {
		return err
	}
	posted, err := t.ctx.PostRecvList(t.flow.To, t.tag, list, &p.op)
	if err := t.begun(&p.op, posted, err); err != nil {
		return err
	}
	t.next++
	return nil
}

// expected is how many messages a server sends from a datafile of this size.
func (t *transfer) expected(size int64) int64 { return (t.below(size) + t.size - 1) / t.size }

func (t *transfer) below(size int64) int64 {
	n := size - t.flow.Offset
	if t.flow.Below != nil {
		n = t.flow.Below(size)
	}
	return min(max(n, 0), t.flow.Total)
}

// read receives the data of a datafile of this size. It cancels the receives beyond the end.
func (t *transfer) read(size int64) (int64, error) {
	count := t.expected(size)
	for i := count; i < t.next; i++ {
		t.cancel(&t.part(i).op)
	}
	for i := count; i < t.next; i++ {
		t.settleOne(&t.part(i).op)
	}
	t.next, t.count, t.total = min(t.next, count), count, t.below(size)
	for t.done < t.count {
		for t.done < t.next && !t.part(t.done).pending {
			if err := t.arrived(t.part(t.done), t.length(t.done)); err != nil {
				return 0, t.broken(err)
			}
			t.done++
			if t.next < t.count {
				if err := t.postRecv(); err != nil {
					return 0, t.broken(err)
				}
			}
		}
		if t.done < t.count {
			if err := t.wait(t.silence()); err != nil {
				return 0, t.broken(err)
			}
		}
	}
	return t.total, nil
}

// arrived checks a message that was received.
func (t *transfer) arrived(p *part, want int) error {
	switch {
	case p.err != nil:
		return p.err
	case p.size == 0:
		return proto.EIO // this is how a server says that it cannot read on
	case p.size != want:
		t.kind = ErrBadAnswer
		return shortOf(p.size, want)
	}
	if p.bounce != nil {
		b := p.bounce[:p.size]
		for _, piece := range p.list {
			b = b[copy(piece, b):]
		}
	}
	return nil
}

// broken ends a flow early. What the server may still send is left over. Before it cancels the receives of a read, it posts one
// more behind them, into memory of the session. If the cancellation breaks the connection, that receive fails, and no goroutine
// waits for the rest.
func (t *transfer) broken(err error) error {
	read := t.direction == proto.IORead
	if !givenUp(err) {
		t.stop()
		return err
	}
	t.left = leftover{from: t.flow.To, tag: t.tag}
	if read && t.recv(&t.answered, t.flow.To, t.tag, t.room(int(t.size))[:t.size]) == nil {
		t.left.size = int(t.size)
	}
	t.stop()
	if read {
		t.left.parts = t.count - t.done - 1
		for i := t.done; i < t.next; i++ {
			if t.part(i).err == nil {
				t.left.parts-- // it arrived meanwhile
			}
		}
		if t.left.parts < 0 || t.left.size == 0 {
			t.left = leftover{}
		}
	}
	return err
}

// stop cancels all messages of the flow and waits until bmi no longer uses their memory.
func (t *transfer) stop() {
	for i := range t.parts {
		t.cancel(&t.parts[i].op)
	}
	for i := range t.parts {
		t.settleOne(&t.parts[i].op)
	}
}

// reserve makes room for n messages at once.
func (s *session) reserve(n int) {
	if cap(s.parts) < n {
		s.parts = make([]part, n)
	}
	s.parts = s.parts[:n]
	for i := range s.parts {
		s.parts[i].op = op{}
	}
}

// maxPieces is the largest number of pieces of a message to or from an address.
func (c *Caller) maxPieces(a bmi.Addr) int {
	method, _, _ := strings.Cut(a.String(), "://")
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.pieces[method]; ok {
		return n
	}
	n := 1
	for _, info := range c.ep.Info() {
		if info.Name == method {
			n = max(info.MaxPieces, 1)
			c.pieces[method] = n
		}
	}
	return n
}
