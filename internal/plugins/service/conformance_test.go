//go:build linux

package service_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

// TestConformance: a method in a session that sleeps works like any other.
func TestConformance(t *testing.T) {
	ways := []struct {
		name  string
		spoil func(p *plugin)
	}{
		{"sleeper", func(*plugin) {}},
		{"no sleeper", func(p *plugin) { p.opt.NoSleeper = true }},
		{"by stream", func(p *plugin) { p.client = p.connect() }},
	}
	for i, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			p := newPlugin(t)
			way.spoil(p)
			bmi.Remove(p.driver)
			require.NoError(t, bmi.Add(outside{p}))
			t.Cleanup(func() {
				bmi.Remove(outside{p})
				require.NoError(t, bmi.Add(p.driver))
			})
			tests := methodtest.All
			if i > 0 {
				tests = tests.Again()
			}
			tests = tests.Brief(i, len(ways))
			seeds := sim.SeedsAtMost(t, 8) // in real time they are about little but chance
			methodtest.RunTests(t, tests, func(methodtest.T) *methodtest.Subject {
				return &methodtest.Subject{
					Address: methodtest.Named(bmitest.Name),
					Seeds:   seeds,
				}
			})
		})
	}
}
