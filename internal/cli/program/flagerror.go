package program

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wants describes the values of the types of flags.
var wants = map[string]string{
	"int": "a whole number", "int32": "a whole number", "uint32": "a whole number, not negative", "uint64": "a whole number, not negative",
	"bool": "true or false",
}

// FlagError explains a mistake in an option. It spells the option as in the help.
func FlagError(cmd *cobra.Command, err error) error {
	return FlagErrorOf(cmd.CommandPath(), cmd.Flags(), err)
}

// FlagErrorOf is FlagError for the options of a command that parses them itself; others are names that it understands, too.
func FlagErrorOf(command string, flags *pflag.FlagSet, err error, others ...string) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		return Usagef("%s has no option %s%s", command, Option(name), didYouMean(similarFlags(flags, name, others)))
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		if want := wants[f.Value.Type()]; want != "" {
			return Usagef("%s %s: want %s", Option(f.Name), invalid.GetValue(), want)
		}
		return Usage(fmt.Errorf("%s %s: %w", Option(f.Name), invalid.GetValue(), invalid.Unwrap()))
	case errors.As(err, &missing):
		return Usagef("%s needs a value behind it", Option(missing.GetSpecifiedName()))
	}
	return Usage(err)
}

// Option is the name of an option as it is written.
func Option(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// similarFlags are the options that look like a mistyped one.
func similarFlags(flags *pflag.FlagSet, name string, others []string) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	near := Near(name, append(names, others...))
	for i := range near {
		near[i] = Option(near[i])
	}
	return near
}
