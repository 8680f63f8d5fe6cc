package pvfs

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/dashes"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// App is the surroundings of a command: what it reads and writes.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	// Terminal: Err is a terminal, so that a progress bar makes sense.
	Terminal bool
	// Getenv is os.Getenv where it is nil.
	Getenv func(key string) string

	// Of the command that runs.
	fsFlag, userFlag string
	mounts           mounts
	mount            client.Options
}

// Main runs the command with the arguments behind its name, and gives the code to exit with.
// SIGINT and SIGTERM end it in order; a second one ends it at once.
func (a *App) Main(ctx context.Context, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()

	root := a.root()
	root.SetArgs(dashes.Normalize(apart(args)))
	err := root.ExecuteContext(ctx)
	text := ""
	if err != nil {
		text = a.missing(ctx, err)
	}
	if e := a.mounts.close(); err == nil {
		err = e
	}
	if err != nil {
		if text == "" {
			text = explain(err)
		}
		fmt.Fprintf(a.Err, "pvfs: %s\n", strings.TrimPrefix(text, "pvfs: "))
		if ExitCode(err) == ExitUsage {
			fmt.Fprintln(a.Err, "Run 'pvfs help' or 'pvfs COMMAND -help' for how it is used.")
		}
	}
	return ExitCode(err)
}

// apart splits what is usually written together, as in ls -la and rm -rf.
func apart(args []string) []string {
	if len(args) == 0 || !slices.Contains([]string{"ls", "rm", "cp", "mkdir"}, args[0]) {
		return args
	}
	var out []string
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		if len(arg) < 3 || arg[0] != '-' || strings.Trim(arg[1:], "larRfp") != "" {
			out = append(out, arg)
			continue
		}
		for _, c := range arg[1:] {
			out = append(out, "-"+string(c))
		}
	}
	return out
}

func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "pvfs",
		Short: "Files of an OrangeFS-compatible parallel file system",
		Long: `pvfs works with the files of a parallel file system: one that pvfsd serves, or any
OrangeFS. The file system is the one of -fs, else the first in the file that PVFS2TAB_FILE
names, else the first in /etc/pvfs2tab.

Names are paths within the file system. With its source in front a name says all by itself:
tcp://HOST:PORT/NAME/path. cp takes local names too; there, what is on the file
system has a colon in front (:/path), or its source. Options may be written with one dash or two.

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
	f := root.PersistentFlags()
	f.StringVar(&a.fsFlag, "fs", "", "the file system: tcp://HOST:PORT/NAME, a line of a pvfs2tab, or the path of one")
	f.StringVar(&a.userFlag, "user", "", "act as UID or UID:GID,GID…, as far as the servers let you")
	root.AddCommand(
		a.lsCommand(), a.cpCommand(), a.catCommand(), a.putCommand(), a.mkdirCommand(), a.rmCommand(), a.mvCommand(), a.lnCommand(),
		a.statCommand(), a.dfCommand(), a.pingCommand(), a.xattrCommand(), a.chmodCommand(), a.chownCommand(), a.touchCommand(),
		a.truncateCommand(), a.benchCommand(), a.mountCommand(), a.versionCommand(),
	)
	for _, cmd := range root.Commands() {
		if cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = a.complete
		}
	}
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

// between checks the number of arguments, in our words. most < 0: any number.
func between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usagef("%s takes %s, not %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

func (a *App) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  between(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			version := "(unknown)"
			if info, ok := debug.ReadBuildInfo(); ok {
				version = info.Main.Version
			}
			_, err := fmt.Fprintf(a.Out, "pvfs %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
