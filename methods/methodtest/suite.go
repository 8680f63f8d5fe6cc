package methodtest

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/race"
)

// T is what the suite needs of a test in progress. *testing.T implements it, and so can a program
// that runs the suite outside go test.
type T interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	FailNow()
	Failed() bool
	Skipf(format string, args ...any)
	Cleanup(func())
}

// A Test is one named requirement.
type Test struct {
	// Name is unique in All and stays the same from release to release.
	Name string
	// Basic marks tests that even the simplest useful method passes.
	Basic bool
	// Func fails t if the subject does not meet the requirement.
	Func func(t T, s *Subject)
}

// Tests is an ordered list of tests.
type Tests []Test

// Share selects the tests for one of many seeds, if running all tests with all seeds would take
// too long. The first whole seeds run all tests; every other seed runs one in parts of the tests,
// and different seeds different ones.
func (ts Tests) Share(seed, whole, parts uint64) (share Tests) {
	for i, test := range ts {
		if seed <= whole || (seed+uint64(i))%parts == 0 {
			share = append(share, test)
		}
	}
	return share
}

// All holds every test, the simple ones first: if several fail, look at the first.
var All = slices.Concat(
	callTests, addressTests, immediateTests, orderTests, matchTests, earlyTests,
	truncateTests, sizeTests, listTests, largeTests, fileTests, remoteTests, unexpectedTests,
	handlerTests, connectTests, cancelTests, dropTests, contextTests,
	goroutineTests, progressTests, sleepTests, blockingTests, closeTests,
	restartTests, forkTests, randomTests,
)

// Basic holds the tests for the simplest useful method.
var Basic = All.where(func(t Test) bool { return t.Basic })

// Find returns the test called name.
func (ts Tests) Find(name string) (Test, bool) {
	i := slices.IndexFunc(ts, func(t Test) bool { return t.Name == name })
	if i < 0 {
		return Test{}, false
	}
	return ts[i], true
}

// Without returns all tests except those named. It panics if no test has a given name, so that a
// misspelt name is noticed.
func (ts Tests) Without(names ...string) Tests {
	for _, name := range names {
		if _, ok := ts.Find(name); !ok {
			panic(fmt.Sprintf("methodtest: no test is called %q", name))
		}
	}
	return ts.where(func(t Test) bool { return !slices.Contains(names, t.Name) })
}

// Again returns the tests for another run of nearly the same thing. With the race detector, which
// copies slowly, and with -short, it omits the tests that use much memory, which would find
// nothing new.
func (ts Tests) Again() Tests {
	if !race.Enabled && !short() {
		return ts
	}
	return ts.Without("Large", "LargeBothWays", "MaxExpectedSize", "CancelDuringTransfer", "EarlyFlood")
}

// Brief returns, with -short, one of several parts of the tests, counted from 0, in which each
// kind of test is represented; otherwise it returns all. It is for several ways to reach a
// method: each may run another part, or one part if another package runs all.
func (ts Tests) Brief(part, parts int) Tests {
	if !short() {
		return ts
	}
	var out Tests
	for i, test := range ts {
		if i%parts == part {
			out = append(out, test)
		}
	}
	return out
}

// short reports whether go test runs with -short. The suite also runs elsewhere: in a program, or
// in a test binary that acts as one and has not parsed the flags of tests.
func short() bool { return testing.Testing() && flag.Parsed() && testing.Short() }

func (ts Tests) where(keep func(Test) bool) Tests {
	var out Tests
	for _, t := range ts {
		if keep(t) {
			out = append(out, t)
		}
	}
	return out
}

// Run runs All as subtests of t.
func Run(t *testing.T, f Factory) {
	t.Helper()
	RunTests(t, All, f)
}

// RunTests runs the given tests as subtests of t, each with its own subject.
func RunTests(t *testing.T, tests Tests, f Factory) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			s := f(t)
			if reason, ok := s.Skip[test.Name]; ok {
				t.Skipf("the subject does not meet this requirement: %s", reason)
			}
			test.Func(t, s)
		})
	}
}
