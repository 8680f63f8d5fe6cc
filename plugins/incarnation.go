package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/plugins/process"
	"github.com/viaduct-hpc/viaduct/internal/plugins/trust"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/internal/version"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// An incarnation is one process of a plugin.
type incarnation struct {
	proc    *process.Process
	client  proto.MethodClient
	name    string // of the plugin
	version string // as the plugin reports it
	methods []names
	rings   bool // sessions use shared memory
	session atomic.Uint64
	waits   waits

	// gone: the process is dead, and its sessions have been or are about to be informed.
	gone atomic.Bool

	mu     sync.Mutex
	reason error // why it was killed; nil if it was not
}

// start starts the process of a plugin and asks what it offers.
func start(ctx context.Context, path string, o *Options) (*incarnation, error) {
	if err := trust.Check(path); err != nil {
		return nil, fmt.Errorf("plugin %s: %w", o.Name, err)
	}
	var sum []byte
	if o.SHA256 != "" {
		var err error
		if sum, err = trust.ParseChecksum(o.SHA256); err != nil {
			return nil, fmt.Errorf("plugin %s: %w", o.Name, err)
		}
	}
	proc, err := process.Start(ctx, process.Config{
		Name: o.Name, Path: path, Args: o.Args, Env: o.Env, SHA256: sum,
		Plaintext: o.Plaintext, StartTimeout: o.waits.start, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	in := &incarnation{proc: proc, client: proc.Client(), name: o.Name, waits: o.waits}
	if err := in.describe(ctx, o); err != nil {
		proc.Kill()
		return nil, err
	}
	return in, nil
}

func (in *incarnation) describe(ctx context.Context, o *Options) error {
	within, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	reply, err := in.client.Describe(within, &proto.DescribeRequest{Program: version.String()})
	if err != nil {
		return fmt.Errorf("plugin %s does not say what it offers: %w", o.Name, in.silence(ctx, within, o, err))
	}
	if reply.GetRings() && reply.GetRingsVersion() != wire.Version && !o.NoRings {
		return fmt.Errorf("plugin %s has version %d of the rings, this program %d: build both from the same release, or use Options.NoRings",
			o.Name, reply.GetRingsVersion(), wire.Version)
	}
	in.rings = reply.GetRings() && !o.NoRings
	in.version = printable(reply.GetVersion())
	in.methods, err = offered(o, reply)
	return err
}

// silence returns why a plugin did not answer Describe: the fate of the process rather than of the
// call.
func (in *incarnation) silence(ctx, within context.Context, o *Options, err error) error {
	late := in.late(within, err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case late:
		return fmt.Errorf("it did not answer within %v (Options.StartTimeout): %w", o.StartTimeout, within.Err())
	case !hungUp(err): // otherwise it died
		return said(err)
	}
	limit := time.NewTimer(in.waits.dying)
	defer limit.Stop()
	select {
	case <-in.proc.Done():
		return errors.New("it " + strings.TrimPrefix(in.proc.Err().Error(), "plugin "+o.Name+" "))
	case <-limit.C:
		return said(err)
	}
}

// kill ends the process for a reason. It does not wait; the supervisor notices the end.
func (in *incarnation) kill(reason error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.reason == nil {
		in.reason = reason
		go in.proc.Kill()
	}
}

// death returns why the process ended. It has ended already.
func (in *incarnation) death() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.reason != nil {
		return died(in.reason.Error())
	}
	return died(in.proc.Err().Error())
}
