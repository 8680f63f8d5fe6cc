package program

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Root makes a command the top of its program: it rejects unknown commands, and leaves
// errors to Complain.
func Root(cmd *cobra.Command, out, err io.Writer) *cobra.Command {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args, cmd.RunE = cobra.ArbitraryArgs, Unknown
	cmd.SetOut(out)
	cmd.SetErr(err)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
	return cmd
}

// Unknown runs if no subcommand matches.
func Unknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return Usagef("%s", text)
}

// Exactly checks the number of arguments, with our error text.
func Exactly(n int, what string) cobra.PositionalArgs { return Between(n, n, what) }

// Between checks the number of arguments, with our error text. most < 0: any number.
func Between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return Usagef("%s takes %s, not %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// VersionCommand prints which build of the program this is.
func VersionCommand(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(out, "%s %s %s %s/%s\n", cmd.Root().Name(), version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// version is what the build knows of itself: the module's version, or the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "(development)"
}
