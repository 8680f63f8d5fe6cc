package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/tiers"
)

// parallel is how many parallel tests of a package run at once: parallel tests mostly wait.
const parallel = "8"

// packageLimit is how long a package's tests should take in the fast tier on a quiet machine.
const packageLimit = time.Minute

// skippedFile has the skipped tests of the last run, relative to the root of the module.
const skippedFile = "out/skipped.txt"

// longest are the packages that take longest: those whose tests start many processes. They start first, so that
// a run does not end with one of them alone.
var longest = []string{
	"bench", "internal/docs", "internal/mpi/jobtest", "examples/mpi/heat", "internal/plugins/conformance", "internal/pvfs/badday",
	"cmd/bmi", "cmd/mpiexec", "examples/mpi/hello", "internal/mpi/launch", "mpi", "internal/pvfs/server",
}

func fastCommand() *cobra.Command {
	var r fastRun
	c := &cobra.Command{
		Use:   "fast [FOLDER...]",
		Short: "run the fast tier, or its packages in some folders",
		RunE: func(c *cobra.Command, folders []string) error {
			r.folders = folders
			f, err := r.run(c.Context())
			if err != nil {
				return err
			}
			return verdict(f)
		},
	}
	c.Flags().BoolVar(&r.fresh, "fresh", false, "run every test, also those whose result is cached")
	c.Flags().BoolVar(&r.race, "race", false, "run the packages that have goroutines or locks, with the race detector; needs a C compiler")
	c.Flags().StringSliceVar(&r.without, "without", nil, "folders whose packages do not run")
	return c
}

func slowCommand() *cobra.Command {
	var most int
	c := &cobra.Command{
		Use:   "slow [FOLDER...]",
		Short: "run the fast tier and list what takes longest",
		RunE: func(c *cobra.Command, folders []string) error {
			f, err := fastRun{folders: folders, fresh: true}.run(c.Context())
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

// A fastRun is a run of the fast tier.
type fastRun struct {
	folders []string // those whose packages run; all if there is none
	without []string // those whose packages do not
	fresh   bool
	race    bool // only what the race step runs
}

func (r fastRun) run(ctx context.Context) (*fold, error) {
	m, err := loadModule(ctx)
	if err != nil {
		return nil, err
	}
	if r.race && !m.canRace {
		return nil, errNoRace
	}
	if err := checkSpace(spaceMin); err != nil {
		return nil, err
	}
	flags := []string{"-short", "-vet=off", "-parallel=" + parallel}
	if r.fresh {
		flags = append(flags, "-count=1")
	}
	s := m.selected(r.race, func(row tiers.Row) bool {
		out := len(r.without) > 0 && within(r.without)(row)
		return within(r.folders)(row) && !out && (row.Race || !r.race)
	})
	if len(s.packages) == 0 {
		return nil, fmt.Errorf("checks: no package of %s is in %q", tiers.Page, r.folders)
	}
	slices.SortStableFunc(s.packages, func(a, b string) int { return place(a) - place(b) })
	if err := setTimes("."); err != nil {
		return nil, fmt.Errorf("checks: %w", err)
	}
	f := newFold(m.path, os.Stdout)
	f.of = len(s.packages)
	// The file is there before the first test: those that list the tree would run again for it.
	if err := f.writeSkipped(skippedFile); err != nil {
		return nil, err
	}
	return f, m.test(ctx, f, flags, nil, s)
}

// place is where a package stands among those that take longest, or behind them.
func place(folder string) int {
	if i := slices.Index(longest, folder); i >= 0 {
		return i
	}
	return len(longest)
}

// verdict prints the result of a run, and writes what was skipped into a file.
func verdict(f *fold) error {
	fmt.Println()
	if err := f.writeSkipped(skippedFile); err != nil {
		return err
	}
	f.printSkipped(os.Stdout, skippedFile)
	f.printFailed(os.Stdout)
	fmt.Println(f.counts())
	if f.bad() {
		return errFailed
	}
	return nil
}

// writeSkipped writes a line for each skipped test: its package, its name, and the reason.
func (f *fold) writeSkipped(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("checks: %w", err)
	}
	var text []byte
	for _, o := range f.skipped() {
		text = fmt.Appendf(text, "%s\t%s\t%s\n", o.Package, o.Test, o.Reason)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return fmt.Errorf("checks: %w", err)
	}
	return nil
}
