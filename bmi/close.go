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

// Shutdown refuses new posts, drains what was posted until ctx ends, completes
// the rest with ErrClosed and frees everything. Test calls then return what
// completed, and after that ErrClosed. A handler must not call it.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	e.open.Lock()
	first := !e.closing.Swap(true)
	e.open.Unlock()
	if !first {
		select {
		case <-e.closed:
			return nil // also if ctx ended before the call
		default:
		}
		select {
		case <-e.closed:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("bmi: another call is closing the endpoint: %w", ctx.Err())
		}
	}
	for _, in := range e.methods() {
		if in.watch != nil {
			in.watch.stop()
		}
	}
	e.wakeEverybody()

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
	e.waitForWatchers(ctx)
	close(e.closed)
	e.spinner.Close()
	e.wakeEverybody()
	return errors.Join(errs...)
}

// waitForWatchers waits until no goroutine of the endpoint is left; one in a
// handler that does not return in time is not waited for.
func (e *Endpoint) waitForWatchers(ctx context.Context) {
	gone := make(chan struct{})
	go func() {
		e.watchers.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// close closes the method and completes what it left behind.
func (in *instance) close(ctx context.Context) error {
	in.takeSleep() // nobody is asleep on a method that closes
	defer in.giveSleep()
	in.lock()
	defer in.unlock()
	in.closing = true
	stop := context.AfterFunc(ctx, func() {
		in.lock()
		defer in.unlock()
		in.idle.Broadcast()
	})
	defer stop()
	for in.handlers > 0 && ctx.Err() == nil {
		in.idle.Wait()
	}
	var err error
	if in.handlers > 0 {
		err = fmt.Errorf("bmi: method %s closed while a handler still runs, let handlers return soon", in.info.Name)
	}
	if e := in.method.Close(ctx); e != nil {
		err = errors.Join(err, fmt.Errorf("bmi: closing method %s: %w", in.info.Name, e))
	}
	in.dead = true
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
	if left > 0 {
		in.ep.cfg.Log.Error("method closed without completing its operations", "method", in.info.Name, "operations", left)
	}
	return err
}
