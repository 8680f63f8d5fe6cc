package plugins_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// held returns the system resources that this process has for plugins: descriptors, and mappings of
// shared memory.
func held(t *testing.T) (fds, maps int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return len(all), strings.Count(string(text), "/memfd:")
}

// TestNothingIsLeft: endpoints, deaths, refusals and memory that was not freed leave nothing
// behind.
func TestNothingIsLeft(t *testing.T) {
	for _, noRings := range []bool{false, true} {
		o := options("imp")
		o.NoRings, o.RestartLimit = noRings, 100
		plugins.Patient(&o, patience)
		round := func() {
			p, err := plugins.Load(t.Context(), self(t), o)
			require.NoError(t, err)
			_, err = bmi.Open(t.Context(), bmi.Config{Listen: []string{"far://"}})
			require.Error(t, err)
			t.Run("", func(t *testing.T) {
				a, b := open(t, far), open(t, far)
				mem, err := a.Alloc(a.to(b), 1<<20)
				require.NoError(t, err)
				require.Len(t, mem, 1<<20)
				talk(t, a, b, 1<<20)
				ops := a.posted(a.to(b), 1)
				kill(t, p, syscall.SIGKILL)
				a.requireDied(ops, "signal: killed")
				talkAgain(t, a, b)
			})
			pid := p.PID()
			require.NoError(t, p.Unload(context.Background()))
			require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
		}
		round() // the first round makes things that are made once
		fds, maps := held(t)
		for range 3 {
			round()
		}
		eventually(t, "descriptors and memory are given back", func() bool {
			nowFDs, nowMaps := held(t)
			return nowFDs <= fds && nowMaps <= maps
		})
		require.Zero(t, maps)
	}
}
