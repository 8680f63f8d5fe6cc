package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/tiers"
)

// allocations selects the tests that count allocations.
const allocations = "Alloc"

// parallel is how many parallel tests of a package run at once: parallel tests mostly wait.
const parallel = "8"

// packageLimit is how long a package's tests should take in the fast tier on a quiet machine.
const packageLimit = time.Minute

func fastCommand() *cobra.Command {
	var fresh bool
	c := &cobra.Command{
		Use:   "fast [FOLDER...]",
		Short: "run the fast tier, or its packages in some folders",
		RunE: func(c *cobra.Command, folders []string) error {
			f, err := runFast(c.Context(), folders, fresh)
			if err != nil {
				return err
			}
			return verdict(f)
		},
	}
	c.Flags().BoolVar(&fresh, "fresh", false, "run every test, also those whose result is cached")
	return c
}

func slowCommand() *cobra.Command {
	var most int
	c := &cobra.Command{
		Use:   "slow [FOLDER...]",
		Short: "run the fast tier and list what takes longest",
		RunE: func(c *cobra.Command, folders []string) error {
			f, err := runFast(c.Context(), folders, true)
			if err != nil {
				return err
			}
			f.printSlowest(os.Stdout, most, packageLimit)
			return verdict(f)
		},
	}
	c.Flags().IntVar(&most, "most", 30, "how many packages, and how many tests, to list")
	return c
}

// runFast runs the fast tier: -short, and the race detector where the table says so.
func runFast(ctx context.Context, folders []string, fresh bool) (*fold, error) {
	m, err := loadModule(ctx)
	if err != nil {
		return nil, err
	}
	if !m.canRace {
		fmt.Println("without the race detector: cgo is off or there is no C compiler (apt-get install gcc)")
	}
	f := newFold(m.path, os.Stdout)
	flags := []string{"-short", "-vet=off", "-parallel=" + parallel}
	if fresh {
		flags = append(flags, "-count=1")
	}
	plain, race := m.selected(within(folders), tiers.Row.Raced)
	if len(plain.packages)+len(race.packages) == 0 {
		return nil, fmt.Errorf("checks: no package of docs/internals/testing.md is in %q", folders)
	}
	if err := m.test(ctx, f, flags, nil, plain, race); err != nil {
		return nil, err
	}
	alloc := m.counting(within(folders))
	if !race.race {
		alloc.packages = nil // they were tested without the race detector already
	}
	return f, m.test(ctx, f, append(flags, "-run="+allocations), nil, alloc)
}

// counting are the packages whose allocation tests run again without the race detector.
func (m *module) counting(passes func(tiers.Row) bool) (s selection) {
	for _, row := range m.rows {
		if row.Fast == tiers.Alloc && passes(row) {
			s.packages = append(s.packages, row.Package)
		}
	}
	return s
}

// verdict prints the result of a run.
func verdict(f *fold) error {
	fmt.Println()
	f.printSkipped(os.Stdout)
	f.printFailed(os.Stdout)
	fmt.Println(f.counts())
	if f.bad() {
		return errFailed
	}
	return nil
}
