package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/tiers"
)

func neededCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "needed FILE",
		Short: "run the tests of a list of skipped ones (" + skippedFile + ") that lacked something that the machine has now",
		Long: `needed runs the tests that another run has skipped for want of something, from its list. Whatever ` + need.MustVariable + `
names (all, if it is empty) must be there now: a test that still lacks it fails.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			list, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("checks: %w", err)
			}
			if os.Getenv(need.MustVariable) == "" {
				if err := os.Setenv(need.MustVariable, "all"); err != nil {
					return err
				}
			}
			f, err := needed(c.Context(), string(list))
			if err != nil {
				return err
			}
			return verdict(f)
		},
	}
}

// needed runs the tests of a list that lacked something. Packages whose tests have the same names run together.
func needed(ctx context.Context, list string) (*fold, error) {
	m, err := loadModule(ctx)
	if err != nil {
		return nil, err
	}
	f := newFold(m.path, os.Stdout)
	tests := lacking(list)
	for pattern, folders := range byPattern(tests) {
		s := m.selected(false, func(row tiers.Row) bool { return slices.Contains(folders, row.Package) })
		flags := []string{"-short", "-vet=off", "-count=1", "-parallel=" + parallel, "-run=" + pattern}
		if err := m.test(ctx, f, flags, nil, s); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// lacking are the tests of a list, by package, that lacked something.
func lacking(list string) map[string][]string {
	tests := make(map[string][]string)
	for line := range strings.Lines(list) {
		cells := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(cells) < 3 {
			continue
		}
		_, _, ok := need.Reason(cells[2])
		name, _, _ := strings.Cut(cells[1], "/")
		if ok && !slices.Contains(tests[cells[0]], name) {
			tests[cells[0]] = append(tests[cells[0]], name)
		}
	}
	return tests
}

// byPattern joins packages that run the same tests.
func byPattern(tests map[string][]string) map[string][]string {
	folders := make(map[string][]string)
	for folder, names := range tests {
		slices.Sort(names)
		for i := range names {
			names[i] = regexp.QuoteMeta(names[i])
		}
		pattern := "^(" + strings.Join(names, "|") + ")$"
		folders[pattern] = append(folders[pattern], folder)
	}
	return folders
}
