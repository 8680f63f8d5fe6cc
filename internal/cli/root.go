package cli

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

// App is the environment of a command: its input and outputs.
type App struct {
	In       *os.File
	Out, Err io.Writer
	// Terminal: Err is a terminal, so a progress bar makes sense.
	Terminal bool

	log program.Log // the options of the log

	// self are the arguments that this program needs before those of a subcommand
	// when it starts itself again: bmi plugins run.
	self []string
}

// Main runs the command with the arguments behind its name, and returns the exit
// code. SIGINT and SIGTERM end the command in an orderly way; a second one ends it at
// once.
func (a *App) Main(ctx context.Context, args []string) int {
	ctx, stop := program.Interruptible(ctx)
	defer stop()

	if !slices.Contains(args, "--child") { // its parent has reported them
		program.ReportUnknown(a.Err, "bmi", os.Environ())
	}
	root := a.root()
	err := program.Execute(ctx, root, args)
	code := ExitCode(err)
	if err != nil {
		program.Complain(a.Err, "bmi", explain(err), code)
	}
	return code
}

// Command is the command with all its subcommands, for manual pages and completions.
func Command() *cobra.Command { return (&App{}).root() }

func (a *App) root() *cobra.Command {
	root := program.Root(&cobra.Command{
		Use:   "bmi",
		Short: "Messages between processes, from the command line",
		Long: `bmi looks at, measures and uses the message transports (methods) of Viaduct.

Addresses look like via+shm://NAME, via+udp://HOST:PORT or tcp://HOST:PORT. via+udp and tcps need a key that both
sides share, or keys of their own (bmi genkey): see docs/reference/bmi.md.
Environment variables are in docs/reference/environment.md; bmi env shows their values here.
Methods may come from plugins, too: BMI_PLUGINS names them, files or folders (bmi help plugins).
` + exitHelp,
		Example: `  bmi info
  bmi perf via+shm
  tar c DIR | bmi send via+shm://backup          bmi recv via+shm://backup | tar x`,
	}, a.Out, a.Err)
	root.SetIn(a.In)
	a.log.Flags(root.PersistentFlags(), "info for serve, else warn")
	program.CommandGroup(root, "Look and measure", a.infoCommand(), a.pingCommand(), a.serveCommand(), a.perfCommand())
	program.CommandGroup(root, "Move data", a.sendCommand(), a.recvCommand())
	for _, cmd := range root.Commands() {
		cmd.PreRunE = a.loadPlugins
		if cmd.Name() != "info" {
			program.TraceFlag(cmd, nil)
		}
	}
	program.CommandGroup(root, "Watch", a.topCommand(), a.traceCommand())
	program.CommandGroup(root, "Set up", a.genkeyCommand(), a.pluginsCommand(), program.EnvCommand(a.Out))
	root.AddCommand(program.VersionCommand(a.Out), a.followCommand())
	return root
}
