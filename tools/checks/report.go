package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// counts are the numbers of tests by result.
type counts struct{ passed, failed, skipped int }

// counts counts tests and their subtests. A failed package without test results, for instance
// after a build error, counts as a test.
func (f *fold) counts() (c counts) {
	failing := make(map[string]bool)
	for _, o := range f.outcomes {
		switch {
		case o.Test == "":
			if o.Action == "fail" && !failing[o.Package] {
				c.failed++
			}
		case o.Action == "pass":
			c.passed++
		case o.Action == "fail":
			failing[o.Package] = true
			c.failed++
		case o.Action == "skip":
			c.skipped++
		}
	}
	return c
}

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

// bad reports whether anything failed.
func (f *fold) bad() bool { return f.broken || f.counts().failed > 0 }

// failed names the tests and packages that failed.
func (f *fold) failed() (names []string) {
	for _, o := range f.outcomes {
		if o.Action == "fail" {
			names = append(names, strings.TrimSpace(o.Package+" "+o.Test))
		}
	}
	return names
}

// printFailed lists the failed tests and packages.
func (f *fold) printFailed(w io.Writer) {
	for _, name := range f.failed() {
		fmt.Fprintf(w, "failed: %s\n", name)
	}
}

// printSlowest lists the slowest packages and tests, with their share of the time of all
// packages. Tests that run in parallel share it.
func (f *fold) printSlowest(w io.Writer, most int, limit time.Duration) {
	var packages, tests []outcome
	var sum time.Duration
	for _, o := range f.outcomes {
		switch {
		case o.Test == "":
			packages = append(packages, o)
			sum += o.Elapsed
		case !strings.Contains(o.Test, "/"):
			tests = append(tests, o)
		}
	}
	list := func(what string, all []outcome) {
		slices.SortStableFunc(all, func(a, b outcome) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
		fmt.Fprintf(w, "\nthe slowest %s:\n", what)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, o := range all[:min(most, len(all))] {
			var over string
			if o.Test == "" && o.Elapsed > limit {
				over = fmt.Sprintf("over %v: move what is slow to the soak tier, or make it fast", limit)
			}
			fmt.Fprintf(table, "  %.2f s\t%.1f %%\t%s %s\t%s\n",
				o.Elapsed.Seconds(), 100*float64(o.Elapsed)/float64(max(sum, 1)), o.Package, o.Test, over)
		}
		_ = table.Flush() // as with the writes before it
	}
	list("packages", packages)
	list("tests", tests)
}
