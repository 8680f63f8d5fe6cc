package pvfs

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// App is the environment of a command: its input and output.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	// Terminal: Err is a terminal, so a progress bar can be shown.
	Terminal bool
	// Getenv is used instead of os.Getenv, if not nil.
	Getenv func(key string) string

	// State of the command that runs.
	args             []string // as passed to Main
	fsFlag, userFlag string
	keyFlag          string
	certFlag         string
	mounts           mounts
	mount            client.Options
}

// Main runs the command with the arguments after its name, and returns the exit code. SIGINT and SIGTERM end it in order; a
// second one ends it at once.
func (a *App) Main(ctx context.Context, args []string) int {
	ctx, stop := program.Interruptible(ctx)
	defer stop()

	a.args = args
	if !isChild() { // its parent has reported them
		program.ReportUnknown(a.Err, "pvfs", os.Environ())
	}
	root := a.root()
	err := program.Execute(ctx, root, args)
	text := ""
	if err != nil {
		text = a.missing(ctx, err)
	}
	if e := a.mounts.close(); err == nil {
		err = e
	}
	if child := (*childError)(nil); errors.As(err, &child) {
		return child.code // it has printed the error itself
	}
	code := ExitCode(err)
	if err != nil {
		if text == "" {
			text = explain(err)
		}
		program.Complain(a.Err, "pvfs", text, code)
	}
	return code
}

// Command is the command with all its subcommands, for manual pages and completions.
func Command() *cobra.Command { return (&App{}).root() }

func (a *App) root() *cobra.Command {
	root := program.Root(&cobra.Command{
		Use:   "pvfs",
		Short: "Files of an OrangeFS-compatible parallel file system",
		Long: `pvfs works with the files of a parallel file system: one that pvfsd serves, or any
OrangeFS. The file system is the one of --fs, else the first in the file that PVFS2TAB_FILE
names, else the first in /etc/pvfs2tab.

Names are paths in the file system. A name may begin with the source of its file system:
tcp://HOST:PORT/NAME/path. cp also takes local names; there, a name on the file
system begins with a colon (:/path) or its source.

` + exitHelp,
		Example: `  pvfs --fs tcp://server:3334/pvfs2-fs ls -l /
  pvfs cp -r results :/archive
  pvfs df --json`,
	}, a.Out, a.Err)
	root.SetIn(a.In)
	f := root.PersistentFlags()
	f.StringVar(&a.fsFlag, "fs", "", "the file system: tcp://HOST:PORT/NAME, a line of a pvfs2tab, or the path of one")
	f.StringVar(&a.userFlag, "user", "", "act as UID or UID:GID,GID…, if the servers allow it")
	f.StringVar(&a.keyFlag, "key-file", "", "the private key of this machine, for servers with a keystore, or that of the certificate (default: the file that "+keyVariable+" names)")
	f.StringVar(&a.certFlag, "cert-file", "", "the certificate of the user, for servers with an authority (default: the file that "+certVariable+" names, or ~/"+certName+" with its key in ~/"+certKeyName+")")
	f.StringVar(&a.mount.Host, "host", "", "the name of this key in the keystore (default: the name of this machine)")
	program.Group(f, "Which file system, and as whom", "fs", "user", "key-file", "cert-file", "host")
	program.CommandGroup(root, "Files and directories", a.lsCommand(), a.cpCommand(), a.catCommand(), a.putCommand(), a.mkdirCommand(),
		a.rmCommand(), a.mvCommand(), a.lnCommand(), a.touchCommand(), a.truncateCommand())
	program.CommandGroup(root, "Attributes", a.statCommand(), a.chmodCommand(), a.chownCommand(), a.xattrCommand())
	program.CommandGroup(root, "The file system", a.dfCommand(), a.pingCommand(), a.topCommand(), a.benchCommand(), a.mountCommand(), a.getUserCertCommand())
	root.AddCommand(program.VersionCommand(a.Out))
	for _, cmd := range root.Commands() {
		if cmd.Name() != "version" {
			a.traced(cmd)
		}
		if cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = a.complete
		}
	}
	return root
}
