package plugins

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ask makes a control call that may take limit at most. A plugin that does not answer in time
// hangs, and is killed. If the plugin dies meanwhile, the error is ErrDied.
func (in *incarnation) ask(ctx context.Context, limit time.Duration, what string, call func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := call(bounded)
	late := in.late(bounded, err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("plugins: asking plugin %s to %s: %w", in.name, what, ctx.Err())
	case late:
		in.kill(fmt.Errorf("plugin %s was killed because it hung: it did not answer a request to %s within %v", in.name, what, limit))
	case !hungUp(err):
		return fmt.Errorf("plugins: asking plugin %s to %s: %w", in.name, what, said(err))
	}
	return in.dying(err)
}

// late reports whether a call ended with err because its deadline passed. The gRPC of either side
// knows the deadline, so the plugin's side may give up first.
func (in *incarnation) late(ctx context.Context, err error) bool {
	at, ok := ctx.Deadline()
	code := status.Code(err)
	if ok && (code == codes.Canceled || code == codes.DeadlineExceeded) && time.Until(at) < dyingTime {
		select {
		case <-ctx.Done():
		case <-in.proc.Done(): // its death ended the call
		}
	}
	return ctx.Err() != nil
}

// hungUp reports whether a call or stream ended because its connection did, at the plugin's end or
// at this one, which is closed a moment before [process.Process.Done].
func hungUp(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.Canceled
}

// dying returns the error of a call during which the plugin died.
func (in *incarnation) dying(err error) error {
	limit := time.NewTimer(in.waits.dying)
	defer limit.Stop()
	select {
	case <-in.proc.Done():
		return in.death()
	case <-limit.C:
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.reason != nil {
		return died(in.reason.Error()) // it is about to be killed
	}
	return died(fmt.Sprintf("plugin %s does not answer any more: %v", in.name, said(err)))
}

// said returns the error of a call without gRPC's prefix.
func said(err error) error {
	if s, ok := status.FromError(err); ok {
		return errors.New(printable(s.Message()))
	}
	return err
}
