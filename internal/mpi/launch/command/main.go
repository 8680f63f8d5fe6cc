package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
	"github.com/viaduct-hpc/viaduct/internal/version"
)

// Exit codes of mpiexec in addition to those of package launch and of the programs.
const (
	exitUsage         = program.ExitUsage
	exitNotExecutable = 126
	exitNotFound      = 127
)

// App is the environment of the command.
type App struct {
	In       io.Reader // input of rank 0; may be nil
	Out, Err io.Writer
	// Signals are passed on to the processes of a job.
	Signals <-chan os.Signal
}

// Main runs the command with its arguments, without the command name, and returns the exit code.
func Main(ctx context.Context, args []string) int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, launch.HandedOn()...)
	defer signal.Stop(signals)
	app := &App{Out: os.Stdout, Err: os.Stderr, Signals: signals}
	if !inBackground(os.Stdin) {
		app.In = os.Stdin
	}
	return app.Main(ctx, args)
}

// inBackground tells whether f is a terminal with another program in its foreground. A read from it
// would stop this program.
func inBackground(f *os.File) bool {
	foreground, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground != unix.Getpgrp()
}

// Main runs the command.
func (a *App) Main(ctx context.Context, args []string) int {
	code := 0
	program.ReportUnknown(a.Err, "mpiexec", os.Environ())
	root := a.root(&code)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		code := exitCode(err)
		program.ComplainAlone(a.Err, "mpiexec", err.Error(), code)
		return code
	}
	return code
}

func exitCode(err error) int {
	switch {
	case errors.Is(err, program.ErrUsage), errors.Is(err, launch.ErrCount), errors.Is(err, launch.ErrDirectory), errors.Is(err, launch.ErrBind):
		return exitUsage
	case errors.Is(err, launch.ErrNotFound):
		return exitNotFound
	case errors.Is(err, launch.ErrNotExecutable):
		return exitNotExecutable
	}
	return launch.CodeFailed
}

// Command is the command with all its options, for its manual page and for completions.
func Command() *cobra.Command {
	root := (&App{}).root(new(int))
	flags := programFlags(&programOptions{})
	jobFlags(flags, &jobOptions{})
	root.Flags().AddFlagSet(flags)
	return root
}

func (a *App) root(code *int) *cobra.Command {
	root := &cobra.Command{
		Use:   "mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...",
		Short: "Start the processes of an MPI program, on this machine or on several hosts",
		Long: `mpiexec starts the processes of an MPI program, on this machine or on several hosts, passes on
their output in whole lines, and leaves no process behind. Standard input goes to rank 0; SIGINT,
SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 go to all ranks. Several programs can be started
together, separated by ":". -n, --env and --wdir apply to one program; the other options come before
the first program and apply to the job. Options may be written with one dash or two; most names
that they have in Hydra and Open MPI are understood, too.

Hosts are those of --hosts or --hostfile, or of the allocation of Slurm, PBS, LSF, Grid Engine or
Cobalt in which mpiexec runs; -n is then by default the number of their slots. mpiexec must have the
same path on all hosts, or --agent names it.

If a process dies, aborts, or ends without Finalize, the others are ended. The exit code is the
first non-zero exit code of a process; 128+N if signal N killed it. If the job was sent a signal,
the code of a process that it killed comes first. The exit code is 124 after a timeout, 127 if
there is no such program, 126 if it cannot be executed, 2 for a bad command line, 1 if a host cannot
be reached or is lost.`,
		Example: `  mpiexec -n 4 ./heat --check
  mpiexec -n 1 ./master : -n 3 --env ROLE=worker ./worker
  mpiexec --hosts node1:4,node2:4 ./heat
  salloc -N 4 mpiexec ./heat`,
		SilenceUsage: true, SilenceErrors: true,
		// The arguments contain those of programs, which cobra must not parse.
		DisableFlagParsing: true, DisableFlagsInUseLine: true,
		Args: cobra.ArbitraryArgs, ValidArgsFunction: complete,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	program.WithHelp(root)
	root.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := parse(args, cmd)
		switch {
		case errors.Is(err, errHelp):
			return cmd.Help()
		case errors.Is(err, errVersion):
			_, err := io.WriteString(a.Out, version.Line("mpiexec"))
			return err
		case err != nil:
			return err
		}
		*code, err = a.run(cmd.Context(), cfg, is(cmd.Flags(), "top"))
		return err
	}
	return root
}

func (a *App) run(ctx context.Context, cfg launch.Config, top bool) (code int, err error) {
	cfg.Stdin, cfg.Stdout, cfg.Stderr = a.In, a.Out, a.Err
	cfg.Signals, cfg.Guard = a.Signals, true
	if top {
		view, e := a.startTop(ctx, &cfg)
		if e != nil {
			return 0, e
		}
		defer func() { err = errors.Join(err, view.close()) }()
	}
	stderr := cfg.Stderr
	cfg.Report = func(sentence string) {
		fmt.Fprintf(stderr, "mpiexec: %s\n", strings.TrimSuffix(sentence, "\n"))
	}
	code, err = launch.Run(ctx, cfg)
	if err != nil {
		return 0, err
	}
	return code, nil
}
