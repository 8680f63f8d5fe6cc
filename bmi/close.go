package bmi

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Close closes the endpoint; Limits.DrainTimeMax bounds how long that takes.
// Under Config.Manual it does not wait at all. See Shutdown.
func (e *Endpoint) Close() error {
	if e.cfg.Manual {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return e.Shutdown(ctx)
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.Limits.DrainTimeMax)
	defer cancel()
	return e.Shutdown(ctx)
}

// Shutdown refuses new posts, drains the pending operations until ctx ends,
// completes the rest with ErrClosed and frees everything. Afterwards Test calls
// return the remaining completions, and then ErrClosed. A handler must not call
// Shutdown.
//
// If a handler still runs when ctx ends, Shutdown returns an error that says so.
// The handler's method then closes when the handler returns, and keeps the
// operations posted with it until then.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	e.open.Lock()
	first := !e.closing.Swap(true)
	e.open.Unlock()
	if !first {
		return e.shutdownAgain(ctx)
	}
	e.unclosed.Add(1) // this call
	e.monitor.End()

	errs := make([]error, len(e.methods()))
	var all sync.WaitGroup
	for i, in := range e.methods() {
		if e.cfg.Manual {
			errs[i] = in.close(ctx)
			continue
		}
		all.Go(func() { errs[i] = in.close(ctx) })
	}
	all.Wait()
	e.monitor.WaitForWatchers(ctx)
	e.closedOne()
	e.flushTrace()
	return errors.Join(errs...)
}

// shutdownAgain waits for the first Shutdown, and for the methods that it left
// open.
func (e *Endpoint) shutdownAgain(ctx context.Context) error {
	for _, in := range e.methods() {
		if in.orphaned.CompareAndSwap(true, false) {
			in.Lock()
			in.closeLateLocked()
			in.unlock()
		}
	}
	select {
	case <-e.closed:
		return nil // also if ctx ended before the call
	default:
	}
	select {
	case <-e.closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("bmi: the endpoint is still closing since another call: %w", ctx.Err())
	}
}

// closedOne counts down unclosed. At zero neither Shutdown nor a method with a late
// handler is left to wait for, and the endpoint is closed.
func (e *Endpoint) closedOne() {
	if e.unclosed.Add(-1) > 0 {
		return
	}
	if e.hide != nil {
		e.hide()
	}
	close(e.closed)
	e.monitor.Close()
}

// close closes the method. If a handler still runs when ctx ends, the goroutine
// that runs the handler closes the method later: see unlock.
func (in *instance) close(ctx context.Context) error {
	in.TakeSleep() // nobody is asleep on a method that closes
	defer in.GiveSleep()
	in.Lock()
	defer in.unlock()
	in.closing = true
	stop := context.AfterFunc(ctx, func() {
		in.Lock()
		defer in.unlock()
		in.idle.Broadcast()
	})
	defer stop()
	for in.PollsPaused() && ctx.Err() == nil {
		in.idle.Wait()
	}
	if in.PollsPaused() {
		in.closeLater = true
		in.ep.unclosed.Add(1)
		return fmt.Errorf("bmi: a handler of method %s still runs, and the method closes when it returns; let handlers return soon", in.info.Name)
	}
	return in.closeLocked(ctx)
}

// closeLateLocked closes a method whose last handler has returned. No goroutine
// sleeps on the method: since close took the right to sleep, every caller finds the endpoint
// closing.
func (in *instance) closeLateLocked() {
	in.closeLater = false
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the time for draining is over
	if err := in.closeLocked(ctx); err != nil {
		in.ep.cfg.Log.Error("method closed late, with an error", "method", in.info.Name, "error", err)
	}
	in.ep.closedOne()
}

// closeLocked closes the method and completes the operations that the method did
// not complete.
func (in *instance) closeLocked(ctx context.Context) (err error) {
	if e := in.method.Close(ctx); e != nil {
		err = fmt.Errorf("bmi: closing method %s: %w", in.info.Name, e)
	}
	in.SetClosed()
	left := 0
	for _, l := range in.lanes {
		if l == nil {
			continue
		}
		l.eachPostedLocked(func(op *Op) {
			left++
			op.Complete(0, ErrClosed)
		})
	}
	if in.trace != nil {
		in.trace.track.Close()
	}
	if left > 0 {
		in.ep.cfg.Log.Error("method closed without completing its operations", "method", in.info.Name, "operations", left)
	}
	return err
}
