package program

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Execute runs the command that the arguments name. It refuses a long option with one dash, and says how it is written: pflag takes
// -output FILE for -o with the value "utput".
func Execute(ctx context.Context, root *cobra.Command, args []string) error {
	if err := checkDashes(root, args); err != nil {
		return err
	}
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// checkDashes looks at each option, but not at the values of options.
func checkDashes(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil // the words of a line that is not finished
	}
	for i := 0; i < len(args); i++ {
		name, isOption := strings.CutPrefix(args[i], "-")
		switch {
		case args[i] == "--":
			return nil
		case !isOption || name == "":
			if sub := child(cmd, args[i]); sub != nil {
				cmd = sub
			}
			continue
		}
		name, _, attached := strings.Cut(name, "=")
		var f *pflag.Flag
		switch long, isLong := strings.CutPrefix(name, "-"); {
		case isLong:
			f = longOption(cmd, long)
		case len(name) == 1:
			f = shortOption(cmd, name[0])
		default:
			var err error
			if f, attached, err = joined(cmd, name, attached); err != nil {
				return err
			}
		}
		if f != nil && f.NoOptDefVal == "" && !attached {
			i++
		}
	}
	return nil
}

func child(cmd *cobra.Command, name string) *cobra.Command {
	for _, sub := range cmd.Commands() {
		if sub.Name() == name {
			return sub
		}
	}
	return nil
}

func longOption(cmd *cobra.Command, name string) *pflag.Flag {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	if f := cmd.Flags().Lookup(name); f != nil {
		return f
	}
	return cmd.InheritedFlags().Lookup(name)
}

func shortOption(cmd *cobra.Command, letter byte) *pflag.Flag {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	if f := cmd.Flags().ShorthandLookup(string(letter)); f != nil {
		return f
	}
	return cmd.InheritedFlags().ShorthandLookup(string(letter))
}

// joined looks at a word of several letters behind one dash: several short options, as in ls -la, or one with its value. It returns the
// last of them, and whether its value is in the word.
func joined(cmd *cobra.Command, letters string, attached bool) (*pflag.Flag, bool, error) {
	if f := longOption(cmd, letters); f != nil && !f.Hidden {
		return nil, false, Usagef("%s has no option -%s: write --%[2]s", cmd.CommandPath(), letters)
	}
	var f *pflag.Flag
	for i := range len(letters) {
		if f = shortOption(cmd, letters[i]); f == nil {
			return nil, false, Usagef("%s has no option -%s%s", cmd.CommandPath(), letters, didYouMean(similarFlags(cmd.Flags(), letters, nil)))
		}
		if f.NoOptDefVal == "" {
			return f, attached || i < len(letters)-1, nil
		}
	}
	return f, attached, nil
}
