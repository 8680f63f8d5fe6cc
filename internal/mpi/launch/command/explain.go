package command

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

// explain rewrites an error of the parser in our own words.
func explain(err error, options []string, flags *pflag.FlagSet) error {
	for _, option := range options {
		digits, ok := strings.CutPrefix(option, "-n")
		if ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return usagef("%s: write -n %s", option, digits)
		}
	}
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && isOfJob(unknown.GetSpecifiedName()):
		return usagef("%s counts for all programs: it stands before the first one", program.Option(unknown.GetSpecifiedName()))
	case errors.As(err, &invalid) && invalid.GetFlag().Name == "np":
		return usagef("-n %s: the number of processes is a number, 1 or more", invalid.GetValue())
	}
	return program.FlagErrorOf("mpiexec", flags, err, understood(flags)...)
}

// isOfJob tells whether an option may stand only before the first program.
func isOfJob(name string) bool {
	var o jobOptions
	job := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.flags(job)
	return job.Lookup(name) != nil
}

// understood are the aliases of the options that may stand here.
func understood(flags *pflag.FlagSet) (names []string) {
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		if flags.Lookup(aliases[alias]) != nil {
			names = append(names, alias)
		}
	}
	return names
}
