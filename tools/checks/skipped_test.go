package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// skips is a fold with tests that were skipped for each kind of reason.
func skips() *fold {
	f := newFold("example.org/m", nil)
	for _, o := range []outcome{
		{Package: "b", Test: "TestTwo/part", Reason: "needs tshark: not installed: apt-get install tshark"},
		{Package: "a", Test: "TestOne", Reason: "needs gcc: not installed: apt-get install gcc libc6-dev"},
		{Package: "a", Test: "TestOne/more", Reason: "needs root: only root can become another user"},
		{Package: "b", Test: "TestLong", Reason: "soak: it takes seconds"},
		{Package: "b", Test: "TestOther", Reason: "the method does not count"},
		{Package: "c", Test: "TestTwo", Reason: "needs prterun: not installed, and Debian has no package of it"},
	} {
		o.Action = "skip"
		f.outcomes = append(f.outcomes, o)
	}
	return f
}

func TestSkippedTestsAreAFewLines(t *testing.T) {
	var out bytes.Buffer
	skips().printSkipped(&out, "list")
	assert.Equal(t, `6 skipped; list lists them:
     2 need programs: apt-get install gcc libc6-dev tshark
     1 need prterun: not installed, and Debian has no package of it
     1 need root: only root can become another user
     1 run in the soak tier only: make soak
     1 do not apply to what they test
`, out.String())
	f := skips()
	for i := range 30 {
		f.outcomes = append(f.outcomes, outcome{Package: "d", Test: "T", Action: "skip", Reason: "needs x" + strings.Repeat("x", i) + ": no"})
	}
	out.Reset()
	f.printSkipped(&out, "list")
	assert.LessOrEqual(t, strings.Count(out.String(), "\n"), skippedLinesMax)
}

// TestWhatLackedSomethingRunsAgain: from the list.
func TestWhatLackedSomethingRunsAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out", "skipped.txt")
	require.NoError(t, skips().writeSkipped(file))
	list, err := os.ReadFile(file)
	require.NoError(t, err)
	folders, pattern := lacking(string(list))
	assert.Equal(t, []string{"a", "a", "b", "c"}, folders)
	assert.Equal(t, "^(TestOne|TestTwo)$", pattern)
}

// TestTheLongestAreThere: a package that has another name does not start first any more.
func TestTheLongestAreThere(t *testing.T) {
	t.Chdir("../..")
	m, err := loadModule(t.Context())
	require.NoError(t, err)
	for _, folder := range longest {
		assert.Contains(t, m.selected(false, within(nil)).packages, folder)
	}
}

func TestReasonOfASkip(t *testing.T) {
	for output, want := range map[string]string{
		"=== RUN   TestX\n    x_test.go:7: a log\n    x_test.go:9: needs mount: no\n        see dmesg\n--- SKIP: TestX (0.00s)\n": "needs mount: no",
		"=== RUN   TestX\n--- SKIP: TestX (0.00s)\n":                              "no reason was given",
		"printed by the program\n    x_test.go:9: file a.go: it is gone\n":        "file a.go: it is gone",
		"    x_test.go:9: soak: it takes seconds\n--- SKIP: TestX/part (0.00s)\n": "soak: it takes seconds",
	} {
		assert.Equal(t, want, skipReason(output), output)
	}
}
