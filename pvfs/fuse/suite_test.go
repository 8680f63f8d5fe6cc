package fuse_test

import (
	"flag"
	"os"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/pvfstest/stock"
)

var parts = flag.Int("fstest.parts", defaultParts(), "run each so manieth case only; 1 runs all")

// defaultParts keeps the run short.
func defaultParts() int {
	if race.Enabled {
		return 48
	}
	return 16
}

// overMethods runs a test over each method that users have.
func overMethods(t *testing.T, do func(t *testing.T, turn int, s *fstest.Subject)) {
	for turn, method := range []string{pvfstest.TCP, pvfstest.ViaShm} {
		t.Run(method, func(t *testing.T) {
			do(t, turn, subject(start(t, setup{cluster: pvfstest.Options{Method: method}})))
		})
	}
}

// subject is a mount, used by system calls.
func subject(b *bench) *fstest.Subject {
	s := &fstest.Subject{As: func(u fstest.User) fstest.FS { return &view{b.dir, u} }, Lacks: map[fstest.Ability]string{
		fstest.OwnRules: "the kernel checks modes itself",
	}}
	if os.Geteuid() != 0 {
		s.Lacks[fstest.Users] = "only root becomes another user"
	}
	return s
}

// onStock is a subject on servers of OrangeFS itself. The test skips where there are none.
func onStock(t *testing.T) *fstest.Subject {
	needFUSE(t)
	b := &bench{source: stock.Start(t, stock.Options{}).Source()}
	b.on(t, setup{})
	s := subject(b)
	s.Lacks[fstest.LongTargets] = "see docs/orangefs.md"
	return s
}

// TestBehaviour runs the suite through system calls.
func TestBehaviour(t *testing.T) {
	overMethods(t, func(t *testing.T, turn int, s *fstest.Subject) {
		fstest.RunCases(t, fstest.All.Share(turn, *parts), func(fstest.T) *fstest.Subject { return s })
	})
}

// TestRandom compares with the model.
func TestRandom(t *testing.T) {
	overMethods(t, func(t *testing.T, _ int, s *fstest.Subject) {
		s.Seeds = sim.Seeds(t)
		fstest.Random(t, func(fstest.T) *fstest.Subject { return s })
	})
}

// TestStockBehaviour is TestBehaviour against stock servers.
func TestStockBehaviour(t *testing.T) {
	s := onStock(t)
	fstest.RunCases(t, fstest.All.Share(0, *parts), func(fstest.T) *fstest.Subject { return s })
}

// TestStockRandom is TestRandom against stock servers.
func TestStockRandom(t *testing.T) {
	s := onStock(t)
	s.Seeds = sim.Seeds(t)
	fstest.Random(t, func(fstest.T) *fstest.Subject { return s })
}
