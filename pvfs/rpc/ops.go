package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// An op is one operation that a pump posted, or has place for.
type op struct {
	id      bmi.OpID
	pending bool // lent to bmi
	size    int
	err     error
}

// A pump posts operations in a context of its own and waits for them. One goroutine at a time
// uses it; halt alone may be called by any.
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

// halt makes wait return errHalted until the flag is taken back.
func (p *pump) halt() {
	p.halted.Store(true)
	p.ctx.Notify()
}

var errHalted = errors.New("pvfs/rpc: halted")

// begun notes what a post returned.
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

// wait takes completions, and waits for the first until a time; the zero time is no limit. It
// returns ErrTimeout when that is over and errHalted after halt, if there was none.
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

// cancel asks for the end of an operation.
func (p *pump) cancel(o *op) {
	if o.pending {
		_ = p.ctx.Cancel(o.id) // fails only if it completed meanwhile
	}
}

// settle waits until nothing is pending. Every operation completes once it was cancelled, so
// that this ends. If the endpoint closed, nothing is lent any more.
func (p *pump) settle() {
	p.settleUntil(func() bool { return p.pending == 0 })
	p.pending = 0
}

// settleOne does the same for one operation.
func (p *pump) settleOne(o *op) {
	if o.pending {
		p.settleUntil(func() bool { return !o.pending })
	}
}

func (p *pump) settleUntil(done func() bool) {
	was := false
	for !done() {
		was = p.halted.Swap(false) || was // wait would not sleep
		if err := p.wait(time.Time{}); err != nil && !errors.Is(err, errHalted) {
			break
		}
	}
	if was {
		p.halted.Store(true)
	}
}

// after is the time that is d from now; the zero time for d < 0.
func after(d time.Duration) time.Time {
	if d < 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

// watched makes an ended context halt a pump.
type watched struct {
	p     *pump
	ended chan struct{} // receives a value when the context ended and halt was called
}

// watch begins; the function returned ends it, and takes halt back.
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

// neverSent tells whether the error of a send says that nothing reached the peer.
func neverSent(err error) bool {
	for _, e := range []error{bmi.ErrUnreachable, bmi.ErrRefused, bmi.ErrTooLarge, bmi.ErrVersion, bmi.ErrBadAddress, bmi.ErrNotSupported, bmi.ErrInvalid} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// givenUp tells whether a wait ended although the peer may still answer.
func givenUp(err error) bool { return errors.Is(err, errHalted) || errors.Is(err, ErrTimeout) }

// errMisfit is a message of a flow that has another length than it should.
var errMisfit = errors.New("do both sides have the same FlowBufferSizeBytes?")

// shortOf is such a message.
func shortOf(got, want int) error {
	return fmt.Errorf("a message of %d bytes, not %d: %w", got, want, errMisfit)
}
