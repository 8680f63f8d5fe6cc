package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

// A peer of the conformance suite in another process is this command again, with its
// own plugin process.

const (
	// takeoverMax is how long an address may stay in use after its owner was killed,
	// because the owner's plugin ends a moment later.
	takeoverMax  = 5 * time.Second
	takeoverStep = 10 * time.Millisecond
)

func (a *App) pluginsPeerCommand() *cobra.Command {
	var flags pluginFlags
	cmd := &cobra.Command{
		Use:    "peer PATH ADDR",
		Short:  "The other process of `bmi plugins check`",
		Hidden: true,
		Args:   program.Exactly(2, "a PATH and an ADDR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pluginsPeer(cmd.Context(), args[0], args[1], flags)
		},
	}
	flags.register(cmd)
	return cmd
}

// pluginsPeer serves until the standard input ends.
func (a *App) pluginsPeer(ctx context.Context, path, address string, flags pluginFlags) (err error) {
	p, err := flags.load(ctx, path, a.warnings())
	if err != nil {
		return err
	}
	defer unload(p, &err)
	ep, err := takeOver(ctx, address)
	if err != nil {
		return err
	}
	defer closeEndpoint(ep, &err)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, a.In)
		cancel()
	}()
	fmt.Fprintln(a.Out, "ok", address)
	return methodtest.Serve(ctx, ep)
}

// takeOver listens on an address that may still be in use.
func takeOver(ctx context.Context, address string) (*bmi.Endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, takeoverMax)
	defer cancel()
	again := time.NewTicker(takeoverStep)
	defer again.Stop()
	for {
		ep, err := bmi.Open(ctx, bmi.Config{Listen: []string{address}})
		if !errors.Is(err, bmi.ErrNameTaken) {
			return ep, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// forkPeer is the Fork hook of a subject.
func (c *checking) forkPeer(t methodtest.T, name string) methodtest.Process {
	t.Helper()
	args := slices.Concat([]string{"plugins", "peer", c.path, fillTemplate(c.template, name)}, c.flags.args())
	child, err := perf.StartChild("peer process", perf.SelfCommand(args...))
	require.NoError(t, err)
	p := peerProcess{child}
	t.Cleanup(p.Kill)
	_, err = child.Answer()
	require.NoError(t, err, "a peer in another process")
	return p
}

// A peerProcess is a peer in another process.
type peerProcess struct{ child *perf.Child }

func (p peerProcess) Kill() { p.child.Kill() }

func (p peerProcess) Stop() error { return p.child.Close() }
