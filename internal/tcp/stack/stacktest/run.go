package stacktest

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

// Run runs every test, each with its own subject. Sleep tests are skipped if the stack is not
// a stack.Sleeper or time is simulated.
func Run(t *testing.T, factory Factory) { run(t, all(), factory) }

// RunAgain is Run for a second configuration of a stack that passes Run, with other buffers
// or another way to send. With -short, only the tests that move bytes run.
func RunAgain(t *testing.T, factory Factory) {
	tests := all()
	if testing.Short() {
		tests = slices.Concat(trafficTests, fileTests, lowWaterTests, endTests, randomTests())
	}
	run(t, tests, factory)
}

func run(t *testing.T, tests []test, factory Factory) {
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) { c.fn(t, newWorld(t, factory(t))) })
	}
}

func all() []test {
	return slices.Concat(connectTests, trafficTests, fileTests, edgeTests, lowWaterTests, endTests, sleepTests, randomTests(), allocTests)
}
