package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/references"
	"github.com/viaduct-hpc/viaduct/internal/tiers"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// small is a module with a package for each way in which tests can end.
var small = map[string]string{
	"go.mod": "module example.org/small\n\ngo 1.26\n",
	"docs/internals/testing.md": tiers.Head + " why |\n| --- | --- | --- | --- |\n| `good` | no | | |\n| `bad` | yes | | |\n" +
		"| `panics` | no | | |\n| `broken` | no | | |\n",
	"good/good_test.go": `package good

import "testing"

func TestGood(t *testing.T) {}

func TestSkips(t *testing.T) { t.Skip("there is no moon") }
`,
	"bad/bad_test.go": `package bad

import "testing"

func TestBad(t *testing.T) {
	t.Run("part", func(t *testing.T) { t.Error("one and one is three") })
}

func TestShort(t *testing.T) {
	if !testing.Short() {
		t.Error("this is not the fast tier")
	}
}
`,
	"panics/panics_test.go": `package panics

import "testing"

func TestPanics(t *testing.T) { panic("out of tea") }
`,
	"broken/broken_test.go": `package broken

func TestBroken(t *testing.T) {}
`,
}

// inSmall creates the small module and changes to its directory.
func inSmall(t *testing.T) *module {
	dir := t.TempDir()
	for name, content := range small {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
	}
	t.Chdir(dir)
	m, err := loadModule(t.Context())
	require.NoError(t, err)
	return m
}

func TestEveryEndOfATestIsSeen(t *testing.T) {
	m := inSmall(t)
	var out bytes.Buffer
	f := newFold(m.path, &out)
	require.Equal(t, []string{"bad"}, m.selected(true, func(row tiers.Row) bool { return row.Race }).packages)
	require.NoError(t, m.test(t.Context(), f, []string{"-short", "-vet=off"}, nil, m.selected(false, within(nil))))
	ends := make(map[string]string)
	for _, o := range f.outcomes {
		ends[strings.TrimSpace(o.Package+" "+o.Test)] = o.Action
	}
	assert.Equal(t, map[string]string{
		"good": "pass", "good TestGood": "pass", "good TestSkips": "skip",
		"bad": "fail", "bad TestBad": "fail", "bad TestBad/part": "fail", "bad TestShort": "pass",
		"panics": "fail", "panics TestPanics": "fail",
		"broken": "fail",
	}, ends)
	assert.True(t, f.bad())
	assert.Equal(t, "2 passed, 4 failed, 1 skipped", f.counts().String())
	for _, want := range []string{"one and one is three", "panic: out of tea", "undefined: testing", "ok  \texample.org/small/good"} {
		assert.Contains(t, out.String(), want)
	}
	out.Reset()
	f.printSkipped(&out, "list")
	assert.Equal(t, "1 skipped; list lists them:\n     1 do not apply to what they test\n", out.String())
	out.Reset()
	f.printSlowest(&out, 1, time.Minute)
	assert.Equal(t, 1, strings.Count(out.String(), "the slowest tests"))
}

// TestFailuresNameTheirPackage: also failures of a binary that fails after its
// tests.
func TestFailuresNameTheirPackage(t *testing.T) {
	for output, want := range map[string]string{
		"PASS\ngoleak: a goroutine is left\n": "PASS\ngoleak: a goroutine is left\nFAIL good\n",
		"FAIL\texample.org/small/good\t1s\n":  "FAIL\texample.org/small/good\t1s\n",
	} {
		var out bytes.Buffer
		f := newFold("example.org/small", &out)
		f.add(event{Action: "output", Package: "example.org/small/good", Output: output})
		f.add(event{Action: "fail", Package: "example.org/small/good"})
		assert.Equal(t, want, out.String())
	}
}

func TestNothingButGood(t *testing.T) {
	m := inSmall(t)
	f := newFold(m.path, io.Discard)
	require.NoError(t, m.test(t.Context(), f, nil, nil, m.selected(false, within([]string{"./good/"}))))
	assert.False(t, f.bad())
	assert.Equal(t, "1 passed, 0 failed, 1 skipped", f.counts().String())
}

// TestFlakeFindsWhatDoesNotPassEveryTime: a test passes in every round but one.
func TestFlakeFindsWhatDoesNotPassEveryTime(t *testing.T) {
	inSmall(t)
	require.NoError(t, os.WriteFile("good/good_test.go", []byte(`package good

import (
	"os"
	"testing"
)

func TestSecondTimeUnlucky(t *testing.T) {
	if _, err := os.Stat("first"); err == nil {
		os.Remove("first")
		t.Fatal("unlucky")
	}
	os.WriteFile("first", nil, 0o600)
}
`), 0o644))
	r, err := flake(t.Context(), []string{"good"}, 0, func(done int, _ time.Duration) bool { return done < 3 })
	require.NoError(t, err)
	assert.Equal(t, map[string][]int{"good": {2}, "good TestSecondTimeUnlucky": {2}}, r.failed)
	require.ErrorIs(t, r.verdict(), errFailed)
}

// TestInterrupted: failures found before an interruption are not lost.
func TestInterrupted(t *testing.T) {
	inSmall(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := flake(ctx, []string{"good"}, 0, func(done int, _ time.Duration) bool {
		if done == 1 {
			cancel()
		}
		return true
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, r.rounds)
	require.NoError(t, r.verdict())

	var ran []string
	part := func(name string) stage {
		return stage{name: name, run: func(*soak, context.Context, time.Duration) (result, error) {
			ran = append(ran, name)
			return result{}, nil
		}}
	}
	require.ErrorIs(t, new(soak).all(ctx, []stage{part("race"), part("full")}, time.Minute), errFailed)
	assert.Equal(t, []string{"race"}, ran)
}

// TestInterruptedTestsEnd: after an interruption no process of a test keeps
// running.
func TestInterruptedTestsEnd(t *testing.T) {
	inSmall(t)
	require.NoError(t, os.WriteFile("good/good_test.go", []byte(`package good

import (
	"os"
	"strconv"
	"testing"
	"time"
)

func TestEndless(t *testing.T) {
	os.WriteFile("new", []byte(strconv.Itoa(os.Getpid())), 0o600)
	os.Rename("new", "pid")
	time.Sleep(time.Hour)
}
`), 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := flake(ctx, []string{"good"}, 0, func(int, time.Duration) bool { return true })
		ended <- err
	}()
	var pid int
	require.Eventually(t, func() bool {
		text, err := os.ReadFile("good/pid")
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(string(text))
		return assert.NoError(t, err)
	}, wallclock.Patience, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH }, wallclock.Patience, time.Millisecond, "the test still runs")
}

func TestFoldersAreKnown(t *testing.T) {
	inSmall(t)
	_, err := fastRun{folders: []string{"elsewhere"}}.run(t.Context())
	require.ErrorContains(t, err, `no package of docs/internals/testing.md is in ["elsewhere"]`)
	_, err = flake(t.Context(), []string{"elsewhere"}, 0, nil)
	require.ErrorContains(t, err, "elsewhere")
}

func TestStagesAreKnown(t *testing.T) {
	picked, err := pick("fuzz,seeds")
	require.NoError(t, err)
	require.Len(t, picked, 2)
	_, err = pick("fuzz,seed")
	require.EqualError(t, err, `checks: no stage is called "seed": there are race, full, models, seeds, fuzz, load`)
}

func TestSummaryFailsIfAStageDid(t *testing.T) {
	require.NoError(t, summary([]result{{stage: "full"}}))
	require.ErrorIs(t, summary([]result{{stage: "full"}, {stage: "fuzz", bad: true}}), errFailed)
}

func TestBases(t *testing.T) {
	s := &soak{base: 7}
	first, err := s.nextBase()
	require.NoError(t, err)
	second, err := s.nextBase()
	require.NoError(t, err)
	assert.Equal(t, [2]uint64{7, 7 + seedsPerRound}, [2]uint64{first, second}, "a replay goes on where it began")
	s = &soak{}
	first, err = s.nextBase()
	require.NoError(t, err)
	assert.NotZero(t, first)
}

func TestTimeUp(t *testing.T) {
	assert.True(t, timeUp("fuzz: elapsed: 5s\n--- FAIL: FuzzX (5.03s)\n    context deadline exceeded\nFAIL\n"))
	assert.False(t, timeUp("--- FAIL: FuzzX (1.03s)\n    --- FAIL: FuzzX (0.00s)\n        Failing input written to x\n"))
	assert.False(t, timeUp("--- FAIL: FuzzX (1.03s)\n    context deadline exceeded\n    Failing input written to x\n"))
	assert.False(t, timeUp("panic: no\n"))
}

func TestTheBusyProcessesEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stop, err := busy(ctx, 0)
	require.NoError(t, err)
	stop()
	cancel()
	t.Setenv("PATH", t.TempDir())
	_, err = busy(ctx, 1)
	require.ErrorContains(t, err, "apt-get install stress-ng")
}

func TestReferencesArePrintedWithTheirFile(t *testing.T) {
	var out bytes.Buffer
	printReferences(&out, &references.Package{
		Path: "example.org/rooms", Files: []string{"top.go", "bottom.go"}, Total: 5,
		Up: []references.Reference{{From: "bottom.go", To: "top.go", Name: "Room.door"}},
	})
	assert.Equal(t, "example.org/rooms: 1 of 5 references point up\n  top.go\n  bottom.go\n      up: Room.door of top.go\n", out.String())
}

// TestTheTableOfTheStandard: docs/reference/mpi-functions.md is as the command prints it.
func TestTheTableOfTheStandard(t *testing.T) {
	var out strings.Builder
	require.NoError(t, writeStandard(&out, "../.."))
	page, err := os.ReadFile("../../docs/reference/mpi-functions.md")
	require.NoError(t, err)
	assert.Equal(t, string(page), out.String(), "run: go run ./tools/checks standard > docs/reference/mpi-functions.md")
	assert.NotContains(t, out.String(), "| `MPI_Send` | **not yet**")
}
