package main

import (
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
			r, err := flake(c.Context(), folders, load, func(done int, _ time.Duration) bool { return done < rounds })
			if err != nil {
				return err
			}
			return r.verdict()
		},
	}
	c.Flags().IntVar(&rounds, "rounds", rounds, "how often")
	c.Flags().IntVar(&load, "load", load, "busy processes beside the tests, made with stress-ng")
	return c
}

// flaky is what repeated rounds found.
type flaky struct {
	rounds int
	all    *fold // of all rounds
	failed map[string][]int
}

// flake runs rounds while more says so; it is told how many are done and how long they took.
// Every test binary is built once, before the load starts.
func flake(ctx context.Context, folders []string, load int, more func(done int, elapsed time.Duration) bool) (*flaky, error) {
	m, err := loadModule(ctx)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "checks-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }() // what is left of it is in the folder for what is temporary
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
		r.rounds++
		start := time.Now()
		f := newFold(m.path, os.Stdout)
		f.quiet = true
		if err := runAll(ctx, f, binaries); err != nil {
			return nil, err
		}
		r.add(f)
		fmt.Printf("round %d: %v, %.0f s\n", r.rounds, f.counts(), time.Since(start).Seconds())
	}
	return r, nil
}

func (r *flaky) add(f *fold) {
	for _, o := range f.outcomes {
		if o.Action == "fail" {
			name := o.Package + " " + o.Test
			r.failed[name] = append(r.failed[name], r.rounds)
		}
	}
	r.all.outcomes = append(r.all.outcomes, f.outcomes...)
}

// verdict lists the tests that did not pass every time.
func (r *flaky) verdict() error {
	fmt.Println()
	r.all.printSkipped(os.Stdout)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(r.failed)) {
		fmt.Fprintf(table, "failed in %d of %d rounds:\t%s\t(rounds %v)\n", len(r.failed[name]), r.rounds, name, r.failed[name])
	}
	_ = table.Flush() // as other writes to standard output
	fmt.Println(r.all.counts())
	if len(r.failed) > 0 {
		return errFailed
	}
	fmt.Printf("every test passed in each of %d rounds\n", r.rounds)
	return nil
}

// A testBinary holds the tests of one package.
type testBinary struct {
	path, folder, pkg string
	env               []string
}

// build builds the test binaries of the fast tier.
func (m *module) build(ctx context.Context, work string, folders []string) ([]testBinary, error) {
	var all []testBinary
	for i, row := range m.rows {
		if !within(folders)(row) {
			continue
		}
		b := testBinary{path: filepath.Join(work, strconv.Itoa(i)+".test"), folder: row.Package, pkg: m.path + "/" + row.Package}
		s := selection{race: m.canRace && row.Raced()}
		b.env = s.environment()
		if row.Package == "." {
			b.pkg = m.path
		}
		args := []string{"test", "-c", "-vet=off", "-o", b.path}
		if s.race {
			args = append(args, "-race")
		}
		cmd := exec.CommandContext(ctx, "go", append(args, "./"+row.Package)...)
		cmd.Env = b.env
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("checks: building the tests of %s: %w\n%s", row.Package, err, out)
		}
		all = append(all, b)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("checks: no package of %s is in %q", tiers.Page, folders)
	}
	return all, nil
}

// runAll runs the binaries once, two for each processor at a time: tests that wait leave it to others.
func runAll(ctx context.Context, f *fold, binaries []testBinary) error {
	next := make(chan testBinary)
	var wg sync.WaitGroup
	errs := make([]error, 2*runtime.NumCPU())
	for i := range errs {
		wg.Go(func() {
			for b := range next {
				if err := b.run(ctx, f); err != nil {
					errs[i] = errors.Join(errs[i], err)
				}
			}
		})
	}
	for _, b := range binaries {
		next <- b
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

// run runs the tests of one package in its folder, as the go command would.
func (b testBinary) run(ctx context.Context, f *fold) error {
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-t", "-p", b.pkg,
		b.path, "-test.short", "-test.v=test2json", "-test.paniconexit0", "-test.timeout="+packageTimeout)
	cmd.Dir, cmd.Env = b.folder, b.env
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		return err
	}
	read := make(chan error, 1)
	go func() { read <- f.read(r) }()
	err := cmd.Wait()
	_ = w.Close() // ends the reading
	if err := <-read; err != nil {
		return err
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return nil // the events say what failed
	}
	return err
}

// busy starts that many busy processes. stop ends them.
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
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself: Wait says so
		if err := cmd.Wait(); err != nil && ctx.Err() == nil {
			fmt.Printf("stress-ng: %v %s\n", err, said.String())
		}
	}, nil
}
