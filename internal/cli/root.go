package cli

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/dashes"
)

// App is the environment of a command: its input and outputs.
type App struct {
	In       *os.File
	Out, Err io.Writer
	// Terminal: Err is a terminal, so a progress bar makes sense.
	Terminal bool

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

	root := a.root()
	root.SetArgs(dashes.Normalize(args))
	err := root.ExecuteContext(ctx)
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
sides share, or keys of their own (bmi genkey): see README.md. Options may be written with one dash or two.
Methods may come from plugins, too: BMI_PLUGINS names them, files or folders (bmi help plugins).
` + exitHelp,
	}, a.Out, a.Err)
	root.SetIn(a.In)
	for _, cmd := range []*cobra.Command{
		a.infoCommand(), a.pingCommand(), a.serveCommand(), a.perfCommand(), a.sendCommand(), a.recvCommand(),
	} {
		cmd.PreRunE = a.loadPlugins
		root.AddCommand(cmd)
	}
	root.AddCommand(a.genkeyCommand(), a.pluginsCommand(), program.VersionCommand(a.Out), a.followCommand())
	return root
}
