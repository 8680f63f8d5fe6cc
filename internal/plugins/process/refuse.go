//go:build linux

package process

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// endsWithin is how long a process that closed its output may take to end by itself, so that the
// error can say how it ended.
const endsWithin = 300 * time.Millisecond

// abandon cleans up after a failed start and returns the reason.
func (p *Process) abandon(ctx, within context.Context, err error) error {
	c, gaveUp, late := p.child, ctx.Err() != nil, within.Err() != nil
	defer p.socket.Close()
	if p.conn != nil {
		defer p.conn.Close()
	}
	if c.socketDir != "" {
		defer os.RemoveAll(c.socketDir)
	}
	switch started := c.isStarted(); {
	case !started && errors.Is(err, errUnwanted):
		return fmt.Errorf("%w: %w", err, context.Cause(within))
	case !started:
		return err
	}
	refusal := c.out.refusal()
	ended := false
	if silent := errors.Is(refusal, errSilent); !late && (silent || p.conn != nil) {
		ended = p.endsByItself()
	}
	c.kill()
	<-c.done
	words := c.out.words()
	switch {
	case gaveUp:
		return fmt.Errorf("%w: %w", errUnwanted, context.Cause(ctx))
	case late:
		return fmt.Errorf("%w: it did not answer within %v%s", ErrNotAPlugin, p.cfg.StartTimeout, words)
	case ended:
		return fmt.Errorf("%w: it ended at its start: %s%s", ErrNotAPlugin, c.ending(), words)
	case refusal != nil:
		return fmt.Errorf("%w%s", refusal, words)
	case errors.Is(err, ErrNotAPlugin):
		return fmt.Errorf("%w%s", err, words)
	}
	return fmt.Errorf("%w: %s%s", ErrNotAPlugin, quote(err.Error()), words)
}

// endsByItself waits a moment for the process to end.
func (p *Process) endsByItself() bool {
	wait := time.NewTimer(p.cfg.endsWithin)
	defer wait.Stop()
	select {
	case <-p.child.done:
		return true
	case <-wait.C:
		return false
	}
}

// notExecutable says why the kernel refuses to execute a file.
func notExecutable(path string, err error) error {
	switch {
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w: no permission: chmod +x %s, unless its file system is mounted noexec", ErrNotExecutable, path)
	case errors.Is(err, unix.ENOEXEC):
		if f, bad := elf.Open(path); bad == nil {
			defer f.Close()
			return fmt.Errorf("%w: it is for %s, this machine is %s: get a plugin built for this machine", ErrNotExecutable, f.Machine, runtime.GOARCH)
		}
		return fmt.Errorf("%w: neither a binary of this machine (%s) nor a script that names its interpreter (#!)", ErrNotExecutable, runtime.GOARCH)
	case errors.Is(err, unix.ENOENT):
		if _, bad := os.Stat(path); bad == nil {
			return fmt.Errorf("%w: its interpreter or dynamic loader is not on this machine", ErrNotExecutable)
		}
	}
	return err
}
