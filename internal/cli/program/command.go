package program

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/version"
)

// Root makes a command the top of its program: it rejects unknown commands, and leaves
// errors to Complain.
func Root(cmd *cobra.Command, out, err io.Writer) *cobra.Command {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args, cmd.RunE = cobra.ArbitraryArgs, Unknown
	cmd.SetOut(out)
	cmd.SetErr(err)
	cmd.SetFlagErrorFunc(FlagError)
	WithHelp(cmd)
	WithVersion(cmd)
	return cmd
}

// WithVersion adds the option --version, which prints what VersionCommand prints.
func WithVersion(cmd *cobra.Command) {
	cmd.Version = version.String()
	cmd.SetVersionTemplate(version.Line(cmd.Name()))
}

// Unknown runs if no subcommand matches.
func Unknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return Usagef("unknown command %q%s", args[0], didYouMean(cmd.SuggestionsFor(args[0])))
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
			_, err := io.WriteString(out, version.Line(cmd.Root().Name()))
			return err
		},
	}
}
