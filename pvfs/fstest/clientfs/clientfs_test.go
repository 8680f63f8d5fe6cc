package clientfs_test

import (
	"context"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/race"
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
	return &fstest.Subject{As: clientfs.New(mounted(t, opts), "/")}
}

var parts = flag.Int("fstest.parts", defaultParts(), "run each so manieth case only; 1 runs all")

// defaultParts keeps the run short where all of it would take minutes.
func defaultParts() int {
	if race.Enabled {
		return 16
	}
	return 4
}

// TestBehaviour runs a part of the cases over each method, another one each.
func TestBehaviour(t *testing.T) {
	for i, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			s := subject(t, pvfstest.Options{Method: method})
			fstest.RunCases(t, fstest.All.Share(i, *parts), func(fstest.T) *fstest.Subject { return s })
		})
	}
}

// TestRandom compares with the model, over each method.
func TestRandom(t *testing.T) {
	for _, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			fstest.Random(t, func(fstest.T) *fstest.Subject { return subject(t, pvfstest.Options{Method: method}) })
		})
	}
}
