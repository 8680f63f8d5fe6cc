package fuse_test

import (
	"flag"
	"os"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/pvfs/pvfstest"
)

var parts = flag.Int("fstest.parts", defaultParts(), "run each so manieth case only; 1 runs all")

// defaultParts keeps the run short.
func defaultParts() int {
	if race.Enabled {
		return 24
	}
	return 8
}

// subject is a mount, used by system calls.
func subject(t *testing.T, opts pvfstest.Options) *fstest.Subject {
	b := start(t, setup{cluster: opts})
	s := &fstest.Subject{As: func(u fstest.User) fstest.FS { return &view{b.dir, u} }}
	if os.Geteuid() != 0 {
		s.Lacks = map[fstest.Ability]string{fstest.Users: "only root becomes another user"}
	}
	return s
}

// TestBehaviour runs the suite through system calls.
func TestBehaviour(t *testing.T) {
	s := subject(t, pvfstest.Options{})
	fstest.RunCases(t, fstest.All.Share(0, *parts), func(fstest.T) *fstest.Subject { return s })
}

// TestRandom compares with the model.
func TestRandom(t *testing.T) {
	s := subject(t, pvfstest.Options{Method: pvfstest.TCP})
	s.Seeds = sim.Seeds(t)
	fstest.Random(t, func(fstest.T) *fstest.Subject { return s })
}
