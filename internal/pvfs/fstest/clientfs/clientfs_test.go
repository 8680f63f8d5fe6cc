package clientfs_test

import (
	"context"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest/clientfs"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// mounted is a client of two new servers. They are strict, because there are no stock clients here.
func mounted(t *testing.T, opts pvfstest.Options) *client.FS {
	t.Helper()
	opts.Server = func(_ int, cfg *server.Config) { cfg.Strict = true }
	c := pvfstest.Start(t, opts)
	f, err := client.Mount(context.Background(), c.Source(), client.Options{User: &client.Identity{Groups: []uint32{0}}, Seed: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func subject(t *testing.T, opts pvfstest.Options) *fstest.Subject {
	t.Helper()
	return &fstest.Subject{As: clientfs.New(mounted(t, opts), "/")}
}

var partsFlag = flag.Int("fstest.parts", 0, "run each so manieth case only; 1 runs all (0: a choice that keeps the run short)")

// parts is how many parts the cases are divided into, to keep a run short. With -short, cases that do not depend on the method
// run only in memory.
func parts(method string) int {
	switch {
	case *partsFlag != 0:
		return *partsFlag
	case testing.Short() && method == pvfstest.Memory:
		return 2
	case race.Enabled, testing.Short():
		return 16
	}
	return 4
}

// TestBehaviour runs a different part of the cases over each method.
func TestBehaviour(t *testing.T) {
	for i, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			s := subject(t, pvfstest.Options{Method: method})
			fstest.RunCases(t, fstest.All.Share(i+1, parts(method)), func(fstest.T) *fstest.Subject { return s })
		})
	}
}

// TestRandom compares with the model, over each method.
func TestRandom(t *testing.T) {
	for _, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			fstest.Random(t, func(fstest.T) *fstest.Subject {
				s := subject(t, pvfstest.Options{Method: method})
				if testing.Short() && method != pvfstest.Memory {
					s.Seeds = sim.SeedsAtMost(t, 1)
				}
				return s
			})
		})
	}
}
