package pvfsd

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

// App is the environment of a command: its output.
type App struct {
	Out, Err io.Writer
}

// Main runs the command with the arguments after its name, and returns the exit code. SIGINT and SIGTERM end it in order; a
// second one ends it at once.
func (a *App) Main(ctx context.Context, args []string) int {
	ctx, stop := program.Interruptible(ctx)
	defer stop()

	program.ReportUnknown(a.Err, "pvfsd", os.Environ())
	root := a.root()
	err := program.Execute(ctx, root, args)
	code := ExitCode(err)
	if err != nil {
		program.Complain(a.Err, "pvfsd", program.Explain(err), code)
	}
	return code
}

// Command is the command with all its subcommands, for manual pages and completions.
func Command() *cobra.Command { return (&App{}).root() }

func (a *App) root() *cobra.Command {
	root := program.Root(&cobra.Command{
		Use:   "pvfsd",
		Short: "A server of an OrangeFS-compatible parallel file system",
		Long: `pvfsd serves a parallel file system, alone or together with other servers. Its clients are pvfs
and stock OrangeFS clients.

Three steps make a file system of one server:

  pvfsd genconfig -o fs.conf tcp://HOST:3334
  pvfsd mkfs --config fs.conf --dir /var/lib/pvfsd
  pvfsd serve --config fs.conf --dir /var/lib/pvfsd

With several servers, all have the same fs.conf, and each has its own --alias.

` + exitHelp,
		Example: `  pvfsd genconfig -o fs.conf tcp://server:3334
  pvfsd serve --config fs.conf --dir /var/lib/pvfsd --create`,
	}, a.Out, a.Err)
	program.CommandGroup(root, "Set up", a.genconfigCommand(), a.checkConfigCommand(), a.genkeyCommand(), a.mkfsCommand())
	program.CommandGroup(root, "Run", a.serveCommand())
	program.CommandGroup(root, "Look for damage", a.checkCommand(), a.scrubCommand())
	root.AddCommand(program.VersionCommand(a.Out))
	return root
}

// noArguments refuses arguments with an error text of this program.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return program.Usagef("%s takes only options, not %q", cmd.CommandPath(), args[0])
	}
	return nil
}
