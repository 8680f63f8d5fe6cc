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

// needed runs the tests of a list that lacked something.
func needed(ctx context.Context, list string) (*fold, error) {
	m, err := loadModule(ctx)
	if err != nil {
		return nil, err
	}
	folders, pattern := lacking(list)
	f := newFold(m.path, os.Stdout)
	if len(folders) == 0 {
		return f, nil
	}
	s := m.selected(false, func(row tiers.Row) bool { return slices.Contains(folders, row.Package) })
	f.of = len(s.packages)
	return f, m.test(ctx, f, []string{"-short", "-vet=off", "-count=1", "-parallel=" + parallel, "-run=" + pattern}, nil, s)
}

// lacking are the packages of a list in which a test lacked something, and a pattern of the names of these tests. A test of
// another of these packages that has one of the names runs, too.
func lacking(list string) (folders []string, pattern string) {
	var names []string
	for line := range strings.Lines(list) {
		cells := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(cells) < 3 {
			continue
		}
		if _, _, ok := need.Reason(cells[2]); !ok {
			continue
		}
		name, _, _ := strings.Cut(cells[1], "/")
		folders, names = append(folders, cells[0]), append(names, regexp.QuoteMeta(name))
	}
	slices.Sort(names)
	return folders, "^(" + strings.Join(slices.Compact(names), "|") + ")$"
}
