package program

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Near returns the names that a misspelt one may mean, as cobra finds commands. A short name has to be nearer than a long one.
func Near(name string, names []string) []string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	if len(name) < 5 {
		all.SuggestionsMinimumDistance = 1
	}
	for _, one := range names {
		if len(one) > 1 {
			all.AddCommand(&cobra.Command{Use: one, Run: func(*cobra.Command, []string) {}})
		}
	}
	if len(name) < 2 {
		return nil
	}
	near := all.SuggestionsFor(name)
	slices.Sort(near)
	return near
}

// didYouMean asks whether one of some names was meant.
func didYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}
