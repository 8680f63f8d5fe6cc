package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// explain rewrites an error of the parser in our own words.
func explain(err error, options []string, flags *pflag.FlagSet) string {
	for _, option := range options {
		digits, ok := strings.CutPrefix(option, "-n")
		if ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return fmt.Sprintf("%s: write -n %s", option, digits)
		}
	}
	switch e := err.(type) {
	case *pflag.NotExistError:
		return unknown(e.GetSpecifiedName(), flags)
	case *pflag.ValueRequiredError:
		return fmt.Sprintf("what follows -%s is missing", e.GetSpecifiedName())
	case *pflag.InvalidValueError:
		if e.GetFlag().Name == "np" {
			return fmt.Sprintf("-n %s: the number of processes is a number, 1 or more", e.GetValue())
		}
		return fmt.Sprintf("-%s %s: %v", e.GetFlag().Name, e.GetValue(), e.Unwrap())
	}
	return strings.ReplaceAll(err.Error(), "--", "-")
}

// unknown says that there is no such option here, and which one may be meant.
func unknown(name string, flags *pflag.FlagSet) string {
	var o jobOptions
	job := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.flags(job)
	if job.Lookup(name) != nil {
		return fmt.Sprintf("-%s counts for all programs: it stands before the first one", name)
	}
	text := fmt.Sprintf("there is no option -%s", name)
	flags.VisitAll(func(f *pflag.Flag) {
		if near(name, f.Name) {
			text += fmt.Sprintf("; did you mean -%s?", f.Name)
		}
	})
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		if near(name, alias) && flags.Lookup(aliases[alias]) != nil {
			text += fmt.Sprintf("; did you mean -%s?", alias)
		}
	}
	return text
}

// near tells whether two names differ by one missing, additional or different letter, or by two
// swapped neighbours.
func near(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b) < 3 || len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	return i < len(a) && (a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:])
}
