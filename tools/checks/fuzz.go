package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/tiers"
)

// A target is one fuzz target.
type target struct{ folder, name string }

// targets finds the fuzz targets of the packages that have some according to the table.
func (s *soak) targets() (all []target, err error) {
	for _, row := range s.rows {
		if !row.Has(tiers.Fuzz) || !within(s.folders)(row) {
			continue
		}
		files, err := filepath.Glob(filepath.Join(row.Package, "*_test.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, decl := range parsed.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
					all = append(all, target{row.Package, f.Name.Name})
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("checks: no fuzz target is in %q", s.folders)
	}
	return all, nil
}

// fuzz gives each target its share of the time, one on each processor.
func (s *soak) fuzz(ctx context.Context, limit time.Duration) (result, error) {
	all, err := s.targets()
	if err != nil {
		return result{}, err
	}
	jobs := runtime.NumCPU()
	each := max(limit*time.Duration(jobs)/time.Duration(len(all)), 5*time.Second).Round(time.Second)
	fmt.Printf("%d targets, %v each, %d at a time\n", len(all), each, jobs)
	next := make(chan target)
	var mu sync.Mutex
	var r result
	var wg sync.WaitGroup
	for range jobs {
		wg.Go(func() {
			for t := range next {
				text, ok := t.run(ctx, each)
				mu.Lock()
				fmt.Println(text)
				if ok {
					r.counts.passed++
				} else {
					r.counts.failed++
					r.bad = true
				}
				mu.Unlock()
			}
		})
	}
	for _, t := range all {
		next <- t
	}
	close(next)
	wg.Wait()
	r.detail = fmt.Sprintf("%d targets, %v each", len(all), each)
	return r, nil
}

// execs is the fuzzer's count of tried inputs.
var execs = regexp.MustCompile(`execs: (\d+)`)

// run fuzzes one target for a time, and returns a summary.
func (t target) run(ctx context.Context, each time.Duration) (text string, ok bool) {
	cmd := goCommand(ctx, selection{}.environment(), "test", "-vet=off", "-run=^$", "-fuzz=^"+t.name+"$",
		"-fuzztime="+each.String(), "-fuzzminimizetime=2s", "-parallel=1", "./"+t.folder)
	out, err := cmd.CombinedOutput()
	if err != nil && !timeUp(string(out)) {
		return fmt.Sprintf("%s\nFAIL %s %s", out, t.folder, t.name), false
	}
	tried := "0"
	if all := execs.FindAllSubmatch(out, -1); len(all) > 0 {
		tried = string(all[len(all)-1][1])
	}
	return fmt.Sprintf("ok   %s %s: %s inputs", t.folder, t.name, tried), true
}

// timeUp distinguishes the end of the time from a failure. Go before 1.27 sometimes reports
// its own end of -fuzztime as a failure, with only this line and no failing input
// (go.dev/issue/75804).
func timeUp(out string) bool {
	_, after, failed := strings.Cut(out, "--- FAIL")
	if !failed {
		return false
	}
	_, after, _ = strings.Cut(after, "\n")
	first, _, _ := strings.Cut(after, "\n")
	lower := strings.ToLower(out)
	return first == "    context deadline exceeded" && !strings.Contains(lower, "failing input") &&
		!strings.Contains(lower, "panic") && !strings.Contains(lower, "hung")
}
