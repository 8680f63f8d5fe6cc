package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

type serveOptions struct {
	core  int
	spin  time.Duration
	child bool
	quiet bool
}

func (a *App) serveCommand() *cobra.Command {
	var opt serveOptions
	cmd := &cobra.Command{
		Use:   "serve ADDR",
		Short: "Answer `bmi ping` and `bmi perf` at an address",
		Long: `Serve listens at an address and answers pings and measurements, of one client at
a time, until it is interrupted.

` + exitHelp,
		Example: `  bmi serve tcp://:4000
  bmi serve via+shm://here --quiet --log-format json`,
		Args: program.Exactly(1, "one ADDR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.serve(cmd.Context(), args[0], opt)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opt.core, "core", -1, "run on this processor core (-1: on any)")
	program.DurationFlag(f, &opt.spin, "spin", 0, "how long to poll before sleeping (0: the default, negative: never)")
	program.QuietFlag(f, &opt.quiet)
	f.BoolVar(&opt.child, "child", false, "say \"ok ADDR\" when ready, and leave when standard input ends")
	_ = f.MarkHidden("child")
	return cmd
}

func (a *App) serve(ctx context.Context, address string, opt serveOptions) (err error) {
	if err := checkAddress(address); err != nil {
		return err
	}
	log, err := a.log.Logger(a.Err, slog.LevelInfo)
	if err != nil {
		return err
	}
	ep, err := bmi.Open(ctx, bmi.Config{Listen: []string{address}, Log: log, SpinMax: opt.spin})
	if err != nil {
		return err
	}
	defer closeEndpoint(ep, &err)
	if opt.core >= 0 {
		undo, err := perf.PinThread(opt.core)
		if err != nil {
			return err
		}
		defer undo()
	}
	s, err := perf.NewServer(ep, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	at := address
	if all := ep.Addresses(); len(all) > 0 {
		at = all[0]
	}
	switch {
	case opt.child:
		fmt.Fprintln(a.Out, "ok", at)
		go func() {
			_, _ = io.Copy(io.Discard, a.In)
			cancel()
		}()
	case !opt.quiet:
		fmt.Fprintf(a.Err, "serving at %s\n", at)
	}
	return s.Serve(ctx)
}
