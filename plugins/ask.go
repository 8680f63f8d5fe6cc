package plugins

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ask makes a control call of at most limit. A plugin that does not answer by then hangs,
// and is killed; one that dies meanwhile gives an error of ErrDied.
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
		in.kill(fmt.Errorf("plugin %s was killed, for it hung: asked to %s it did not answer within %v", in.name, what, limit))
	case !hungUp(err):
		return fmt.Errorf("plugins: asking plugin %s to %s: %w", in.name, what, said(err))
	}
	return in.dying(err)
}

// late reports whether a call with a deadline ended with err because of that. The gRPC of
// either side knows the deadline, too, and may be the first to give up.
func (in *incarnation) late(ctx context.Context, err error) bool {
	at, ok := ctx.Deadline()
	code := status.Code(err)
	if ok && (code == codes.Canceled || code == codes.DeadlineExceeded) && time.Until(at) < dyingTime {
		select {
		case <-ctx.Done():
		case <-in.proc.Done(): // which ended the call
		}
	}
	return ctx.Err() != nil
}

// hungUp reports whether a call or stream ended because its connection did, at the
// plugin's end or at ours, which is closed a moment before [process.Process.Done].
func hungUp(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.Canceled
}

// dying is the error of a call that the plugin did not survive.
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
		return died(in.reason.Error()) // it is being killed
	}
	return died(fmt.Sprintf("plugin %s does not answer any more: %v", in.name, said(err)))
}

// said is the error of a call without what gRPC puts around it.
func said(err error) error {
	if s, ok := status.FromError(err); ok {
		return errors.New(printable(s.Message()))
	}
	return err
}
