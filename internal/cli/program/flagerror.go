package program

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wants say what a flag of a type takes.
var wants = map[string]string{
	"int": "a whole number", "int32": "a whole number", "uint64": "a whole number, not negative",
	"duration": "a time with its unit, such as 200ms or 3s", "bool": "true or false",
}

// FlagError explains a mistake in an option, written with one dash as the help and the guides do.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		return Usagef("%s has no option -%s%s", cmd.CommandPath(), unknown.GetSpecifiedName(), didYouMean(similarFlags(cmd, unknown.GetSpecifiedName())))
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		if want := wants[f.Value.Type()]; want != "" {
			return Usagef("-%s %s: want %s", f.Name, invalid.GetValue(), want)
		}
		return Usage(fmt.Errorf("-%s %s: %w", f.Name, invalid.GetValue(), invalid.Unwrap()))
	case errors.As(err, &missing):
		return Usagef("-%s needs a value behind it", missing.GetSpecifiedName())
	}
	return Usage(err)
}

// similarFlags are the options of a command that look like a mistyped one, as cobra finds similar commands.
func similarFlags(cmd *cobra.Command, name string) []string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	var near []string
	for _, one := range all.SuggestionsFor(name) {
		near = append(near, "-"+one)
	}
	return near
}

// didYouMean asks whether one of some names was meant.
func didYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}
