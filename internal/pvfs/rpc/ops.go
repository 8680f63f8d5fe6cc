package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// An op is one operation of a pump, or room for one.
type op struct {
	id      bmi.OpID
	pending bool // lent to bmi
	size    int
	err     error
}

// A pump posts operations in a bmi context of its own and waits for them. It is used by one goroutine at a time, but any
// goroutine may call halt.
type pump struct {
	ctx     *bmi.Context
	out     [8]bmi.Completion
	pending int
	halted  atomic.Bool
	isHalt  func() bool // halted.Load
}

func newPump(ep *bmi.Endpoint) (*pump, error) {
	ctx, err := ep.OpenContext()
	if err != nil {
		return nil, err
	}
	p := &pump{ctx: ctx}
	p.isHalt = p.halted.Load
	return p, nil
}

// halt makes wait return errHalted until the flag is cleared.
func (p *pump) halt() {
	p.halted.Store(true)
	p.ctx.Notify()
}

var errHalted = errors.New("internal/pvfs/rpc: halted")

// begun records the result of a post.
func (p *pump) begun(o *op, posted bmi.Posted, err error) error {
	*o = op{id: posted.Op, pending: !posted.Done, size: posted.Size, err: err}
	if err != nil {
		o.pending = false
		return err
	}
	if o.pending {
		p.pending++
	}
	return nil
}

// recv and send post a message in one piece.
func (p *pump) recv(o *op, from bmi.Addr, tag bmi.Tag, buf []byte) error {
	posted, err := p.ctx.PostRecv(from, tag, buf, o)
	return p.begun(o, posted, err)
}

func (p *pump) send(o *op, to bmi.Addr, tag bmi.Tag, buf []byte) error {
	posted, err := p.ctx.PostSend(to, tag, buf, o)
	return p.begun(o, posted, err)
}

// sendFile posts a message whose bytes are in a file.
func (p *pump) sendFile(o *op, to bmi.Addr, tag bmi.Tag, part bmi.FileRange) error {
	posted, err := p.ctx.PostSendFile(to, tag, part, o)
	return p.begun(o, posted, err)
}

// wait takes completions. If there are none, it waits for the first one until a deadline; the zero time means no limit. Without a
// completion it returns ErrTimeout after the deadline, and errHalted after halt.
func (p *pump) wait(until time.Time) error {
	left := bmi.Forever
	if !until.IsZero() {
		left = max(time.Until(until), 0)
	}
	n, err := p.ctx.TestUntil(p.isHalt, p.out[:], left)
	for i := range p.out[:n] {
		c := &p.out[i]
		o := c.User.(*op)
		o.pending, o.size, o.err = false, c.Size, c.Err
		p.pending--
		*c = bmi.Completion{}
	}
	switch {
	case n > 0:
		return nil
	case err != nil:
		return err
	case p.halted.Load():
		return errHalted
	case !until.IsZero() && !time.Now().Before(until):
		return ErrTimeout
	}
	return nil
}

// cancel cancels an operation. It does not wait.
func (p *pump) cancel(o *op) {
	if o.pending {
		_ = p.ctx.Cancel(o.id) // fails only if it has completed meanwhile
	}
}

// settle waits until nothing is pending. It returns, because every operation completes after its cancellation. If the endpoint is
// closed, nothing is lent any more.
func (p *pump) settle() {
	p.settleUntil(func() bool { return p.pending == 0 })
	p.pending = 0
}

// settleOne does this for one operation.
func (p *pump) settleOne(o *op) {
	if o.pending {
		p.settleUntil(func() bool { return !o.pending })
	}
}

func (p *pump) settleUntil(done func() bool) {
	was := false
	for !done() {
		was = p.halted.Swap(false) || was // else wait would return at once
		if err := p.wait(time.Time{}); err != nil && !errors.Is(err, errHalted) {
			break
		}
	}
	if was {
		p.halted.Store(true)
	}
}

// after is the time d from now; the zero time for d < 0.
func after(d time.Duration) time.Time {
	if d < 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

// watched halts a pump when a context ends.
type watched struct {
	p     *pump
	ended chan struct{} // receives a value after the context ended and halt was called
}

// watch starts watching. The result stops it, and clears halt.
func (w *watched) watch(ctx context.Context) (stop func() bool) {
	if ctx.Done() == nil {
		return nil
	}
	return context.AfterFunc(ctx, func() {
		w.p.halt()
		w.ended <- struct{}{}
	})
}

func (w *watched) unwatch(stop func() bool) {
	if stop != nil && !stop() {
		<-w.ended
	}
}

// neverSent reports whether the error of a send says that nothing reached the peer.
func neverSent(err error) bool {
	for _, e := range []error{bmi.ErrUnreachable, bmi.ErrRefused, bmi.ErrTooLarge, bmi.ErrVersion, bmi.ErrBadAddress, bmi.ErrNotSupported, bmi.ErrInvalid} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// givenUp reports whether a wait ended although the peer may still answer.
func givenUp(err error) bool { return errors.Is(err, errHalted) || errors.Is(err, ErrTimeout) }

// errMisfit is for a message of a flow with the wrong length.
var errMisfit = errors.New("do both sides have the same FlowBufferSizeBytes?")

// shortOf is the error for such a message.
func shortOf(got, want int) error {
	return fmt.Errorf("a message of %d bytes, not %d: %w", got, want, errMisfit)
}
