package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/verdict"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

// Outcomes of a test.
const (
	testPassed  = "ok"
	testSkipped = "skip"
	testFailed  = "FAIL"
)

// A result is the outcome of a test.
type result struct {
	test    string
	outcome string
	took    time.Duration
	said    []string
}

// try runs a test to its end. If ctx ends it does not wait for the test, because the command is
// about to exit.
func try(ctx context.Context, test methodtest.Test, factory methodtest.Factory) (result, error) {
	start := time.Now()
	t, err := verdict.RunContext(ctx, test.Name, func(t *verdict.T) { test.Func(t, factory(t)) })
	if err != nil {
		return result{}, err
	}
	r := result{test: test.Name, outcome: testPassed, took: time.Since(start)}
	switch {
	case t.Failed():
		r.outcome, r.said = testFailed, t.Errors()
	case t.Skipped() != "":
		r.outcome, r.said = testSkipped, []string{t.Skipped()}
	}
	return r, nil
}

// coloured is the result as String has it, with its outcome in colour.
func (r result) coloured(style program.Style) string {
	switch r.outcome {
	case testPassed:
		return strings.Replace(r.String(), testPassed, style.Good(testPassed), 1)
	case testFailed:
		return strings.Replace(r.String(), testFailed, style.Bad(testFailed), 1)
	}
	return r.String()
}

// String is the result in one line, followed by the reasons of a failure.
func (r result) String() string {
	line := fmt.Sprintf("  %-4s  %-28s", r.outcome, r.test)
	switch r.outcome {
	case testSkipped:
		return line + " " + strings.Join(strings.Fields(strings.Join(r.said, "; ")), " ")
	case testFailed:
		line = strings.TrimRight(line, " ")
		for _, said := range r.said {
			for text := range strings.Lines(strings.Trim(said, "\n")) {
				line += "\n          " + strings.TrimRight(strings.ReplaceAll(text, "\t", "  "), " \n")
			}
		}
		return line
	}
	return fmt.Sprintf("%s %7.2f s", line, r.took.Seconds())
}
