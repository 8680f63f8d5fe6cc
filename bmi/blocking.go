package bmi

import (
	"context"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/progress"
)

// Send sends an expected message and waits until buf is the caller's again. If
// ctx ends first, the operation is cancelled and Send returns ctx's error once
// buf is free. Any number of goroutines may use the blocking calls of one
// Context. Test calls do not see their operations.
func (c *Context) Send(ctx context.Context, to Addr, tag Tag, buf []byte) error {
	_, err := c.do(ctx, KindSend, 0, to, tag, buf)
	return err
}

// Recv receives an expected message and returns its length. See Send.
func (c *Context) Recv(ctx context.Context, from Addr, tag Tag, buf []byte) (int, error) {
	return c.do(ctx, KindRecv, 0, from, tag, buf)
}

// SendUnexpected sends an unexpected message. See Send.
func (c *Context) SendUnexpected(ctx context.Context, to Addr, class Class, tag Tag, buf []byte) error {
	_, err := c.do(ctx, KindSendUnexpected, class, to, tag, buf)
	return err
}

// Call sends request as an unexpected message and waits for the answer, an
// expected message with the same tag. It returns the length of the answer. The
// receive is posted first, so that the answer always finds it.
func (c *Context) Call(ctx context.Context, to Addr, class Class, tag Tag, request, reply []byte) (int, error) {
	answer := newCall()
	defer answer.free()
	if err := c.start(ctx, KindRecv, 0, to, tag, reply, answer); err != nil {
		return 0, err
	}
	if _, err := c.do(ctx, KindSendUnexpected, class, to, tag, request); err != nil {
		c.abandon(answer)
		_, _ = c.finish(context.Background(), answer)
		return 0, err
	}
	return c.finish(ctx, answer)
}

// do posts one operation and waits for it.
func (c *Context) do(ctx context.Context, kind Kind, class Class, a Addr, tag Tag, buf []byte) (int, error) {
	w := newCall()
	defer w.free()
	if err := c.start(ctx, kind, class, a, tag, buf, w); err != nil {
		return 0, err
	}
	return c.finish(ctx, w)
}

// start posts an operation whose completion goes to w. If too many operations are
// pending it waits.
func (c *Context) start(ctx context.Context, kind Kind, class Class, a Addr, tag Tag, buf []byte, w *call) error {
	if c.ep.cfg.Manual {
		return fmt.Errorf("%w: blocking calls need progress in the background, post and test instead under Config.Manual", ErrNotSupported)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for {
		posted, err := c.postOne(kind, class, a, tag, buf, nil, w)
		if err == nil {
			if posted.Done {
				w.done, w.result.Size, w.op, w.in = true, posted.Size, nil, nil
			}
			return nil
		}
		if !errors.Is(err, ErrAgain) {
			return err
		}
		r := request{kind: waitRoom, ctx: c, in: a.e.in}
		if err := c.block(ctx, &r, &w.Waiter); err != nil {
			return err
		}
	}
}

// finish waits until the operation of w has completed, and cancels it if ctx ends
// first.
func (c *Context) finish(ctx context.Context, w *call) (int, error) {
	if w.in == nil {
		return w.result.Size, w.result.Err
	}
	r := request{kind: waitCall, ctx: c, in: w.in, call: w}
	stopped := c.block(ctx, &r, &w.Waiter)
	if stopped == nil {
		return w.result.Size, w.result.Err
	}
	c.abandon(w)
	for c.block(context.Background(), &r, &w.Waiter) != nil {
		// block fails only if its context has ended, and this one never ends.
	}
	if w.result.Err == nil {
		return w.result.Size, nil // the operation completed before the cancel
	}
	return 0, errors.Join(stopped, w.result.Err)
}

// abandon cancels the operation of w unless it has completed.
func (c *Context) abandon(w *call) {
	in := w.in
	if in == nil {
		return // done within the post
	}
	in.Lock()
	defer in.unlock()
	if !w.done && !in.IsClosed() {
		in.method.Cancel(w.op)
	}
}

// block waits until the request is served. It returns ctx's error if ctx ends
// first.
func (c *Context) block(ctx context.Context, r *request, w *progress.Waiter) error {
	e := c.ep
	var list *progress.List // an operation of a call knows its waiter
	if r.kind == waitRoom {
		list = &c.waits
	}
	if ctx.Done() == nil {
		for _, _ = e.test(r, list, Forever, w); !r.met; _, _ = e.test(r, list, Forever, w) {
			w.Uncancel()
		}
		return nil
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		e.monitor.Cancel(w)
		close(ended)
	})
	for !r.met && ctx.Err() == nil {
		_, _ = e.test(r, list, Forever, w)
	}
	if !stop() {
		<-ended // the function must not touch w later
		w.Uncancel()
	}
	if r.met {
		return nil
	}
	return ctx.Err()
}
