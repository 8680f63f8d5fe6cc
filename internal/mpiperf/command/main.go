package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/mpiperf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// Exit codes of mpibench.
const (
	exitOK     = program.ExitOK
	exitFailed = program.ExitFailed // a measurement, or the contents of a message
	exitUsage  = program.ExitUsage
)

// App is the environment of the command.
type App struct {
	Out, Err io.Writer
}

// Main runs the command with the arguments behind its name, and returns the exit code. A
// mistake in the command line is the same on all ranks. They start and end as usual, so that
// rank 0 can report it once.
func (a *App) Main(ctx context.Context, args []string) int {
	var help bytes.Buffer
	var opt options
	wrong := parse(args, &help, &opt)
	if wrong == nil && len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		_, _ = a.Out.Write(help.Bytes()) // a shell asks for completions, without a job
		return exitOK
	}
	code := exitOK
	err := mpi.Run(ctx, mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
		err := wrong
		if err == nil && help.Len() == 0 {
			err = a.measure(ctx, p, opt)
		}
		if err != nil && !errors.Is(err, program.ErrUsage) && !errors.Is(err, mpiperf.ErrPlan) {
			return err
		}
		if err != nil {
			code = exitUsage
		}
		return a.speak(ctx, p, help.Bytes(), err)
	})
	if err != nil {
		program.ComplainAlone(a.Err, "mpibench", strings.TrimPrefix(err.Error(), "mpiperf: "), exitFailed)
		return exitFailed
	}
	return code
}

// speak prints the help, or the mistake in the command line, on rank 0. No rank ends before
// that, because its launcher might then end the others.
func (a *App) speak(ctx context.Context, p *mpi.Process, help []byte, wrong error) error {
	var err error
	if p.World().Rank() == 0 {
		program.ReportUnknown(a.Err, "mpibench", os.Environ())
		_, err = a.Out.Write(help)
		if wrong != nil {
			program.ComplainAlone(a.Err, "mpibench", strings.TrimPrefix(wrong.Error(), "mpiperf: "), exitUsage)
		}
	}
	return errors.Join(err, p.World().Barrier(ctx))
}

func (a *App) measure(ctx context.Context, p *mpi.Process, opt options) error {
	undo, err := bind(ctx, p, opt.pin)
	if err != nil {
		return err
	}
	defer undo()
	if opt.tune != "" {
		return a.tune(p, opt.tune, opt.plan)
	}
	report := mpiperf.NewTable(a.Out, opt.json).Add
	if opt.vars == "" {
		return mpiperf.Run(p, opt.plan, report)
	}
	before, err := mpiperf.WatchVariables(p)
	if err != nil {
		return err
	}
	if err := mpiperf.Run(p, opt.plan, report); err != nil {
		return err
	}
	prefix := opt.vars
	if prefix == varsAll {
		prefix = ""
	}
	all, err := before.Read(prefix)
	if err != nil || p.World().Rank() != 0 {
		return err
	}
	return mpiperf.WriteVariables(a.Out, all, opt.json)
}
