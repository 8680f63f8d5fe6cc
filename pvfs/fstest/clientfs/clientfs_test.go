package clientfs_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/pvfs/fstest/clientfs"
	"github.com/viaduct-hpc/viaduct/pvfs/pvfstest"
)

// mounted is a client of two new servers.
func mounted(t *testing.T, opts pvfstest.Options) *client.FS {
	t.Helper()
	c := pvfstest.Start(t, opts)
	f, err := client.Mount(context.Background(), c.Source(), client.Options{User: &client.Identity{Groups: []uint32{0}}, Seed: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func subject(t *testing.T, opts pvfstest.Options) *fstest.Subject {
	t.Helper()
	return &fstest.Subject{As: clientfs.New(mounted(t, opts), "/"), Lacks: clientfs.Lacks}
}

// TestBehaviour runs every case over memory, and a share of them over each method on top: what
// differs there is how messages go, which the methods' own suites are about.
func TestBehaviour(t *testing.T) {
	parts := 1
	if race.Enabled {
		parts = 4
	}
	for i, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			s := subject(t, pvfstest.Options{Method: method})
			share := parts
			if method != pvfstest.Memory {
				share *= 4
			}
			fstest.RunCases(t, fstest.All.Share(i, share), func(fstest.T) *fstest.Subject { return s })
		})
	}
}

// TestRandom compares with the model, over each method.
func TestRandom(t *testing.T) {
	for i, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			s := subject(t, pvfstest.Options{Method: method})
			for _, seed := range sim.Seeds(t) {
				s.Seeds = append(s.Seeds, seed+uint64(1000*i))
			}
			fstest.Random(t, func(fstest.T) *fstest.Subject { return s })
		})
	}
}
