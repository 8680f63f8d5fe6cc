package dgramtest

import (
	"slices"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/seamtest"
)

// T is the part of *testing.T that tests need.
type T = seamtest.T

// A test is one named requirement.
type test struct {
	name string
	fn   func(t T, w *world)
}

// Run runs every test, each with its own subject. Sleep tests are skipped if the
// device is not a dgram.Sleeper or time is simulated.
func Run(t *testing.T, factory Factory) {
	for _, c := range all() {
		t.Run(c.name, func(t *testing.T) { c.run(t, factory(t)) })
	}
}

func (c test) run(t T, s *Subject) {
	w := newWorld(t, s)
	c.fn(t, w)
	w.audit()
}

func all() []test {
	return slices.Concat(openTests, trafficTests, familyTests, badTests, bufferTests, closeTests, sleepTests, randomTests, allocTests)
}
