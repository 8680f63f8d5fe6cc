package fstest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// T is the part of *testing.T that the suite needs.
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

// A Case is one named requirement.
type Case struct {
	// Name is unique in All and stays the same from release to release.
	Name string
	// Needs are the abilities that the case needs.
	Needs []Ability
	// Func fails e if the subject does not meet the requirement.
	Func func(e *Env)
}

// Cases is an ordered list of cases.
type Cases []Case

// All has every case, the simple ones first. If several fail, look at the first one.
var All = slices.Concat(
	basicCases, openCases, nameCases, missingCases, sizeCases, holeCases, truncateCases, borderCases,
	treeCases, listCases, removeCases, renameCases, symlinkCases, accessCases, ownerCases,
	timeCases, xattrCases, parallelCases,
)

// Find returns the case called name.
func (cs Cases) Find(name string) (Case, bool) {
	i := slices.IndexFunc(cs, func(c Case) bool { return c.Name == name })
	if i < 0 {
		return Case{}, false
	}
	return cs[i], true
}

// Matching returns the cases whose names begin with prefix.
func (cs Cases) Matching(prefix string) Cases {
	var out Cases
	for _, c := range cs {
		if strings.HasPrefix(c.Name, prefix) {
			out = append(out, c)
		}
	}
	return out
}

// Share is a part of the cases for a run that cannot afford all: those whose index modulo parts is turn.
func (cs Cases) Share(turn, parts int) Cases {
	var out Cases
	for i, c := range cs {
		if i%parts == turn%parts {
			out = append(out, c)
		}
	}
	return out
}

// Run runs All as subtests of t on one subject. Each case has a directory of its own.
func Run(t *testing.T, f Factory) {
	t.Helper()
	RunCases(t, All, f)
}

// RunCases runs the given cases as subtests of t on one subject.
func RunCases(t *testing.T, cases Cases, f Factory) {
	t.Helper()
	s := f(t)
	for name := range s.Skip {
		if _, ok := All.Find(name); !ok {
			t.Errorf("fstest: no case is called %q", name)
		}
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { RunCase(t, c, s) })
	}
}

// RunCase runs one case on a subject.
func RunCase(t T, c Case, s *Subject) {
	t.Helper()
	if reason, ok := s.Skip[c.Name]; ok {
		t.Skipf("the subject does not meet this requirement: %s", reason)
		return
	}
	if reason, ok := s.why(c.Needs); ok {
		t.Skipf("the subject lacks what this needs: %s", reason)
		return
	}
	e := newEnv(t, s)
	c.Func(e)
	e.clean()
}

// one makes a case without special needs.
func one(name string, fn func(e *Env)) Case { return Case{Name: name, Func: fn} }

// needing adds needs to cases.
func needing(cases Cases, needs ...Ability) Cases {
	for i := range cases {
		cases[i].Needs = append(cases[i].Needs, needs...)
	}
	return cases
}

// name makes the name of a case of a table.
func name(format string, args ...any) string { return fmt.Sprintf(format, args...) }
