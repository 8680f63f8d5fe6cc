package plugins

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// drainTime is how long a plugin may take to send pending messages, if the context has no deadline.
const drainTime = 5 * time.Second

// graceTime is how much longer a plugin without other sessions may take to answer, unless
// HangTimeout is shorter.
const graceTime = time.Second

// nap limits a sleep of Close between two polls.
const nap = 10 * time.Millisecond

// Close implements bmi.Method.
func (s *session) Close(ctx context.Context) error {
	s.closing.Store(true)
	s.cancel()
	s.waitOpened()
	if s.full.Load() {
		s.takeNews()
	}
	if s.attached != nil && s.attached.dead() {
		s.detach(s.attached.in.death())
	}
	if _, ok := ctx.Deadline(); !ok {
		bounded, cancel := context.WithTimeout(ctx, drainTime)
		defer cancel()
		ctx = bounded
	}
	for s.attached != nil && s.inner.Unsaid() && ctx.Err() == nil && !s.attached.dead() {
		s.rest(s.pollInner())
	}
	err := s.inner.Close(ctx)
	s.plugin.forget(s)
	return errors.Join(err, s.free())
}

// waitOpened returns when no goroutine is opening the session any more.
func (s *session) waitOpened() {
	for {
		s.mailbox.Lock()
		opening, changed := s.opening, s.waitLocked()
		s.mailbox.Unlock()
		if !opening {
			return
		}
		<-changed
	}
}

// dead reports whether the process is dead.
func (at *attachment) dead() bool {
	select {
	case <-at.in.proc.Done():
		return true
	default:
		return false
	}
}

// rest sleeps for a little unless something happened.
func (s *session) rest(moved bool) {
	if !moved {
		if s.inner.Arm() {
			s.Sleep(nap)
		} else {
			time.Sleep(time.Millisecond) // there is no room, and no bell rings when there is
		}
		s.inner.Disarm()
	}
}

// closeThere closes the method in the plugin, and takes its records meanwhile. When it returns, the
// plugin does not use the memory of the session any more, or is dead.
func (s *session) closeThere(ctx context.Context) error {
	at := s.attached
	var reply *proto.CloseReply
	done := make(chan error, 1)
	go func() {
		at.finish(ctx)
		drain := drainLeft(ctx)
		done <- at.in.ask(context.Background(), drain+s.grace(), "close a method", func(ctx context.Context) (err error) {
			reply, err = at.in.client.Close(ctx, &proto.CloseRequest{Session: at.id, Drain: int64(drain)})
			return err
		})
		s.Wake()
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				at.in.kill(fmt.Errorf("plugin %s was killed because it did not close a method: %w", at.in.name, err))
				<-at.in.proc.Done()
				return err
			}
			s.hearRest(at)
			return failureOf(reply.GetFailure())
		default:
			s.rest(s.pollInner())
		}
	}
}

// finish sends a plugin without shared memory all records of the program, which the Close call
// could overtake.
func (at *attachment) finish(ctx context.Context) {
	if at.pump != nil {
		_ = at.pump.Finish(ctx)
	}
}

// drainLeft returns how long a plugin may still take to send pending messages; ctx has a deadline.
func drainLeft(ctx context.Context) time.Duration {
	until, _ := ctx.Deadline()
	if ctx.Err() != nil {
		return 0
	}
	return max(time.Until(until), 0)
}

// grace returns how long a plugin may take for an immediate answer. A plugin with other sessions is
// not killed for being slow.
func (s *session) grace() time.Duration {
	if len(s.plugin.all()) > 1 {
		return s.plugin.opts.HangTimeout
	}
	return min(s.plugin.opts.HangTimeout, graceTime)
}

// hearRest waits until everything that the plugin sent is in the ring: with a stream, until the
// stream ends.
func (s *session) hearRest(at *attachment) {
	if at.pump == nil {
		return
	}
	limit := time.After(s.grace())
	for {
		select {
		case <-at.pump.Done():
			return
		case <-limit:
			return
		default:
			s.rest(s.pollInner())
		}
	}
}
