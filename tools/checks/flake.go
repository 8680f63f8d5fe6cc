package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/tiers"
)

func flakeCommand() *cobra.Command {
	rounds, load := 20, 8
	c := &cobra.Command{
		Use:   "flake [FOLDER...]",
		Short: "run the fast tier repeatedly beside busy processes, and list the tests that did not pass every time",
		RunE: func(c *cobra.Command, folders []string) error {
			if rounds < 1 {
				return fmt.Errorf("checks: --rounds is %d, need at least 1", rounds)
			}
			r, err := flake(c.Context(), folders, load, func(done int, _ time.Duration) bool { return done < rounds })
			if r == nil || r.rounds == 0 {
				return err
			}
			return errors.Join(err, r.verdict())
		},
	}
	c.Flags().IntVar(&rounds, "rounds", rounds, "how often")
	c.Flags().IntVar(&load, "load", load, "busy processes beside the tests, made with stress-ng")
	return c
}

// flaky are the results of repeated rounds.
type flaky struct {
	rounds int
	all    *fold // of all rounds
	failed map[string][]int
}

// flake runs rounds while more reports true; its arguments are the number of rounds done and the
// time that they took. Every test binary is built once, before the load starts. After an
// interrupt, the result has only the complete rounds.
func flake(ctx context.Context, folders []string, load int, more func(done int, elapsed time.Duration) bool) (*flaky, error) {
	m, err := loadModule(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkSpace(flakeSpaceMin); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "checks-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }() // leftover files are in the folder for temporary files
	binaries, err := m.build(ctx, work, folders)
	if err != nil {
		return nil, err
	}
	stop, err := busy(ctx, load)
	if err != nil {
		return nil, err
	}
	defer stop()
	r := &flaky{all: newFold(m.path, io.Discard), failed: make(map[string][]int)}
	for began := time.Now(); more(r.rounds, time.Since(began)); {
		start := time.Now()
		f := newFold(m.path, os.Stdout)
		f.quiet = true
		if err := runAll(ctx, f, binaries); err != nil {
			return r, err
		}
		// The next round begins with what took longest, so that it does not end with it.
		slices.SortStableFunc(binaries, func(a, b *testBinary) int { return cmp.Compare(b.took, a.took) })
		r.rounds++
		r.add(f)
		fmt.Printf("round %d: %v, %.0f s\n", r.rounds, f.counts(), time.Since(start).Seconds())
	}
	return r, nil
}

// add adds a round. One that is bad although no test failed did not run properly.
func (r *flaky) add(f *fold) {
	failed := f.failed()
	if f.bad() && len(failed) == 0 {
		failed = []string{"a process that did not run its tests"}
	}
	for _, name := range failed {
		r.failed[name] = append(r.failed[name], r.rounds)
	}
	r.all.outcomes = append(r.all.outcomes, f.outcomes...)
}

// verdict lists the tests that did not pass every time.
func (r *flaky) verdict() error {
	fmt.Println()
	if err := r.all.writeSkipped(skippedFile); err != nil {
		return err
	}
	r.all.printSkipped(os.Stdout, skippedFile)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(r.failed)) {
		fmt.Fprintf(table, "failed in %d of %d rounds:\t%s\t(rounds %v)\n", len(r.failed[name]), r.rounds, name, r.failed[name])
	}
	_ = table.Flush() // as with other writes to standard output
	fmt.Println(r.all.counts())
	if len(r.failed) > 0 {
		return errFailed
	}
	fmt.Printf("every test passed in each of %d rounds\n", r.rounds)
	return nil
}

// A testBinary holds the tests of one package.
type testBinary struct {
	path string
	row  tiers.Row
	env  []string
	took time.Duration // in the last round
}

// build builds the test binaries of the fast tier.
func (m *module) build(ctx context.Context, work string, folders []string) (all []*testBinary, err error) {
	for _, row := range m.rows {
		if !within(folders)(row) {
			continue
		}
		b := &testBinary{path: filepath.Join(work, strconv.Itoa(len(all))+".test"), row: row, env: selection{}.environment()}
		args := []string{"test", "-c", "-vet=off", "-o", b.path, "./" + row.Package}
		if out, err := goCommand(ctx, b.env, args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("checks: building the tests of %s: %w\n%s", row.Package, err, out)
		}
		all = append(all, b)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("checks: no package of %s is in %q", tiers.Page, folders)
	}
	return all, nil
}

// runAll runs the binaries once, eight per processor at a time: tests that wait leave the
// processor to others, and this many get a fair share of it beside the load.
func runAll(ctx context.Context, f *fold, binaries []*testBinary) error {
	next := make(chan *testBinary)
	var wg sync.WaitGroup
	errs := make([]error, 8*runtime.NumCPU())
	for i := range errs {
		wg.Go(func() {
			for b := range next {
				if err := b.test(ctx, f); err != nil && ctx.Err() == nil {
					errs[i] = errors.Join(errs[i], err)
				}
			}
		})
	}
	for _, b := range binaries {
		if ctx.Err() == nil {
			next <- b
		}
	}
	close(next)
	wg.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// test runs the tests of one package in its folder, as the go command would.
func (b *testBinary) test(ctx context.Context, f *fold) error {
	name := f.module
	if b.row.Package != "." {
		name += "/" + b.row.Package
	}
	cmd := goCommand(ctx, b.env, "tool", "test2json", "-t", "-p", name,
		b.path, "-test.short", "-test.v=test2json", "-test.paniconexit0", "-test.timeout="+packageTimeout, "-test.parallel="+parallel)
	cmd.Dir = b.row.Package
	cancelBy(cmd, syscall.SIGTERM) // programs started by test2json ignore an interrupt
	start := time.Now()
	defer func() { b.took = time.Since(start) }()
	return f.follow(ctx, cmd)
}

// busy starts n busy processes. stop ends them.
func busy(ctx context.Context, n int) (stop func(), err error) {
	if n == 0 {
		return func() {}, nil
	}
	path, err := exec.LookPath("stress-ng")
	if err != nil {
		return nil, fmt.Errorf("checks: %w: apt-get install stress-ng, or --load 0", err)
	}
	var said strings.Builder
	cmd := exec.CommandContext(ctx, path, "--cpu", strconv.Itoa(n), "--quiet")
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its workers
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("checks: %w", err)
	}
	return func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself: Wait reports that
		if err := cmd.Wait(); err != nil && ctx.Err() == nil {
			fmt.Printf("stress-ng: %v %s\n", err, said.String())
		}
	}, nil
}
