package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/dashes"
)

// App is the surroundings of a command: what it reads and writes.
type App struct {
	In       *os.File
	Out, Err io.Writer
	// Terminal: Err is a terminal, so that a progress bar makes sense.
	Terminal bool

	// self are the arguments that make this program what it is now, in front of those
	// of a process that it starts: bmi plugins run.
	self []string
}

// Main runs the command with the arguments behind its name, and gives the code
// to exit with. SIGINT and SIGTERM end it in order; a second one ends it at once.
func (a *App) Main(ctx context.Context, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()

	root := a.root()
	root.SetArgs(dashes.Normalize(args))
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(a.Err, "bmi: %s\n", strings.TrimPrefix(explain(err), "bmi: "))
		if ExitCode(err) == ExitUsage {
			fmt.Fprintln(a.Err, "Run 'bmi help' or 'bmi COMMAND -help' for how it is used.")
		}
	}
	return ExitCode(err)
}

func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "bmi",
		Short: "Messages between processes, from the command line",
		Long: `bmi looks at, measures and uses the message transports (methods) of Viaduct.

Addresses look like via+shm://NAME, via+udp://HOST:PORT or tcp://HOST:PORT. via+udp and tcps need a key that both
sides share: see VIADUCT_UDP_KEY_FILE and VIADUCT_TLS_SECRET in README.md. Options may be written with one dash or two.
Methods may come from plugins, too: BMI_PLUGINS names them, files or folders (bmi help plugins).
` + exitHelp,
		SilenceUsage:               true,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs,
		RunE:                       unknownCommand,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	for _, cmd := range []*cobra.Command{
		a.infoCommand(), a.pingCommand(), a.serveCommand(), a.perfCommand(), a.sendCommand(), a.recvCommand(),
	} {
		cmd.PreRunE = a.loadPlugins
		root.AddCommand(cmd)
	}
	root.AddCommand(a.pluginsCommand(), a.versionCommand(), a.followCommand())
	return root
}

// unknownCommand runs when no subcommand fits.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef("%s", text)
}

// exactly and between check the number of arguments, in our words.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("bmi %s takes %s, not %d arguments", cmd.Name(), what, len(args))
		}
		return nil
	}
}

func between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usagef("bmi %s takes %s, not %d arguments", cmd.Name(), what, len(args))
		}
		return nil
	}
}
