package pvfsd

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/dashes"
)

// App is the surroundings of a command: what it writes.
type App struct {
	Out, Err io.Writer
}

// Main runs the command with the arguments behind its name, and gives the code to exit with.
// SIGINT and SIGTERM end it in order; a second one ends it at once.
func (a *App) Main(ctx context.Context, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()

	root := a.root()
	root.SetArgs(dashes.Normalize(args))
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(a.Err, "pvfsd: %s\n", strings.TrimPrefix(explain(err), "pvfsd: "))
		if ExitCode(err) == ExitUsage {
			fmt.Fprintln(a.Err, "Run 'pvfsd help' or 'pvfsd COMMAND -help' for how it is used.")
		}
	}
	return ExitCode(err)
}

func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "pvfsd",
		Short: "A server of an OrangeFS-compatible parallel file system",
		Long: `pvfsd keeps files of a parallel file system, alone or together with others. Stock OrangeFS
clients and pvfs use it alike.

Three steps make a file system of one server:

  pvfsd genconfig -o fs.conf tcp://HOST:3334
  pvfsd mkfs -config fs.conf -dir /var/lib/pvfsd
  pvfsd serve -config fs.conf -dir /var/lib/pvfsd

With several, all have the same fs.conf and each its own -alias. Options may be written with one
dash or two.

` + exitHelp,
		SilenceUsage:               true,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs,
		RunE:                       unknownCommand,
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(a.serveCommand(), a.mkfsCommand(), a.genconfigCommand(), a.checkCommand(), a.versionCommand())
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

// noArguments refuses arguments, in our words.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes options alone, not %q", cmd.CommandPath(), args[0])
	}
	return nil
}
