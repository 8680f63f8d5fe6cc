package main

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/tiers"
)

// seedsPerRound is how many seeds every simulated test runs before the next base is drawn.
const seedsPerRound = 50

// A stage is one part of the soak tier.
type stage struct {
	name string
	// share is the stage's share of the time that is left after the stages without a share.
	share float64
	run   func(s *soak, ctx context.Context, limit time.Duration) (result, error)
}

// A result is a row of the summary.
type result struct {
	stage   string
	counts  counts
	bad     bool
	detail  string // what it did, and how to replay it
	elapsed time.Duration
}

// stages are all stages in order.
var stages = []stage{
	{"race", 0, (*soak).race},
	{"full", 0, (*soak).full},
	{"models", 0, (*soak).models},
	{"seeds", 0.4, (*soak).seeds},
	{"fuzz", 0.3, (*soak).fuzz},
	{"load", 0.3, (*soak).load},
}

func stageNames() (names []string) {
	for _, s := range stages {
		names = append(names, s.name)
	}
	return names
}

func soakCommand() *cobra.Command {
	hours, base := 2.0, uint64(0)
	var only string
	c := &cobra.Command{
		Use:   "soak [FOLDER...]",
		Short: "run everything at full length, then fresh seeds, fuzzing and repetitions under load until the time is over",
		RunE: func(c *cobra.Command, folders []string) error {
			picked, err := pick(only)
			if err != nil {
				return err
			}
			m, err := loadModule(c.Context())
			if err != nil {
				return err
			}
			s := &soak{module: m, folders: folders, base: base}
			return s.all(c.Context(), picked, time.Duration(hours*float64(time.Hour)))
		},
	}
	c.Flags().Float64Var(&hours, "hours", hours, "how long; race, full and models run once however long they take")
	c.Flags().StringVar(&only, "only", "", "run only these stages: some of "+strings.Join(stageNames(), ","))
	c.Flags().Uint64Var(&base, "base", 0, "replay: seeds begin after this one (0: draw one)")
	return c
}

// pick finds stages by their names, separated by commas; "" means all.
func pick(only string) ([]stage, error) {
	if only == "" {
		return stages, nil
	}
	var picked []stage
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(stages, func(s stage) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("checks: no stage is called %q: there are %s", name, strings.Join(stageNames(), ", "))
		}
		picked = append(picked, stages[i])
	}
	return picked, nil
}

// soak is one run of the soak tier.
type soak struct {
	*module
	folders []string
	base    uint64
}

// all runs stages one after the other, and prints the summary.
func (s *soak) all(ctx context.Context, picked []stage, limit time.Duration) error {
	began := time.Now()
	var results []result
	var shares float64
	for _, st := range picked {
		shares += st.share
	}
	for _, st := range picked {
		var part time.Duration
		if st.share > 0 {
			part = max(time.Minute, time.Duration(float64(limit-time.Since(began))*st.share/shares))
			shares -= st.share
		}
		fmt.Printf("\n=== %s\n", st.name)
		start := time.Now()
		r, err := st.run(s, ctx, part)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			fmt.Println(err)
			r.bad, r.detail = true, err.Error()
		}
		r.stage, r.elapsed = st.name, time.Since(start)
		results = append(results, r)
		if ctx.Err() != nil {
			break
		}
	}
	return summary(results)
}

// summary prints a table for people that is also valid Markdown.
func summary(results []result) error {
	fmt.Println()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintln(table, "| stage\t| result\t| passed\t| failed\t| skipped\t| minutes\t| what\t|")
	fmt.Fprintln(table, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	var bad bool
	for _, r := range results {
		verdict := "ok"
		if r.bad {
			verdict, bad = "FAIL", true
		}
		fmt.Fprintf(table, "| %s\t| %s\t| %d\t| %d\t| %d\t| %.1f\t| %s\t|\n", r.stage, verdict,
			r.counts.passed, r.counts.failed, r.counts.skipped, r.elapsed.Minutes(), r.detail)
	}
	_ = table.Flush() // as with other writes to standard output
	if bad {
		return errFailed
	}
	return nil
}

// race runs every test of every package at full length with the race detector.
func (s *soak) race(ctx context.Context, _ time.Duration) (result, error) {
	if !s.canRace {
		return result{}, errNoRace
	}
	return s.whole(ctx, "every package, with the race detector", true)
}

// wholeNumbers are variables that set the amount of work of some tests; by default they do
// less.
var wholeNumbers = map[string]string{
	"VIADUCT_KILLS":     "500",     // over each method
	"VIADUCT_MUTATIONS": "1000000", // requests
	"VIADUCT_STRANGERS": "1000000", // requests
}

// full runs every test without the race detector: counts that the race detector reduces are
// then complete.
func (s *soak) full(ctx context.Context, _ time.Duration) (result, error) {
	what := "every package, whole numbers of kills, connections and mutated packets"
	var env []string
	for name, value := range wholeNumbers {
		if os.Getenv(name) == "" {
			env = append(env, name+"="+value)
		}
	}
	if os.Getenv("ORANGEFS_PREFIX") == "" {
		what += "; no OrangeFS: ORANGEFS_PREFIX is not set"
	}
	return s.whole(ctx, what, false, env...)
}

// whole runs every test at full length, with env added to its environment.
func (s *soak) whole(ctx context.Context, what string, race bool, env ...string) (result, error) {
	f := newFold(s.path, os.Stdout)
	packages := s.selected(race, within(s.folders))
	packages.env = env
	err := s.test(ctx, f, []string{"-count=1"}, nil, packages)
	if err == nil {
		err = f.writeSkipped(skippedFile)
	}
	f.printSkipped(os.Stdout, skippedFile)
	f.printFailed(os.Stdout)
	return result{counts: f.counts(), bad: f.bad(), detail: what}, err
}

// models checks the Promela models with the larger bounds.
func (s *soak) models(ctx context.Context, _ time.Duration) (result, error) {
	cmd := exec.CommandContext(ctx, "./docs/internals/models/run.sh", "deep")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return result{}, fmt.Errorf("checks: docs/internals/models/run.sh deep: %w", err)
	}
	return result{detail: "docs/internals/models/run.sh deep"}, nil
}

// seeds runs the simulated tests with seeds never used before, a new base in each round.
func (s *soak) seeds(ctx context.Context, limit time.Duration) (result, error) {
	simulated := func(row tiers.Row) bool { return row.Has(tiers.Seeds) && within(s.folders)(row) }
	packages := s.selected(false, simulated)
	f := newFold(s.path, os.Stdout)
	f.quiet = true
	var bases []string
	for began := time.Now(); len(bases) == 0 || time.Since(began) < limit; {
		base, err := s.nextBase()
		if err != nil {
			return result{}, err
		}
		bases = append(bases, fmt.Sprint(base))
		fmt.Printf("-sim.base=%d -sim.seeds=%d\n", base, seedsPerRound)
		flags := []string{fmt.Sprintf("-sim.base=%d", base), fmt.Sprintf("-sim.seeds=%d", seedsPerRound)}
		if err := s.test(ctx, f, []string{"-count=1", "-vet=off"}, flags, packages); err != nil {
			return result{}, err
		}
	}
	f.printFailed(os.Stdout)
	detail := fmt.Sprintf("%d seeds each, after bases %s", seedsPerRound, strings.Join(bases, ", "))
	return result{counts: f.counts(), bad: f.bad(), detail: detail}, nil
}

// nextBase is the user's base, and those that follow it; or a random one.
func (s *soak) nextBase() (uint64, error) {
	if s.base != 0 {
		base := s.base
		s.base += seedsPerRound
		return base, nil
	}
	var b [8]byte
	if _, err := crand.Read(b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:])%1_000_000_000 + 1_000, nil // short enough to type
}

// load runs the fast tier beside busy processes.
func (s *soak) load(ctx context.Context, limit time.Duration) (result, error) {
	const processes = 8
	r, err := flake(ctx, s.folders, processes, func(done int, elapsed time.Duration) bool {
		return done == 0 || elapsed+elapsed/time.Duration(done) < limit
	})
	if err != nil {
		return result{}, err
	}
	detail := fmt.Sprintf("%d rounds of the fast tier beside %d busy processes", r.rounds, processes)
	return result{counts: r.all.counts(), bad: r.verdict() != nil, detail: detail}, nil
}
