package fuse_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse/fusetest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/stock"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

var partsFlag = flag.Int("fstest.parts", 0, "run each so manieth case only; 1 runs all (0: 16, 24 with -short, 48 with the race detector)")

// parts is how many parts the cases are divided into, to keep a run short.
func parts() int {
	if *partsFlag != 0 {
		return *partsFlag
	}
	switch {
	case race.Enabled:
		return 48
	case testing.Short():
		return 24
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

// subject is a mount, through system calls.
func subject(b *bench) *fstest.Subject {
	s := &fstest.Subject{As: func(u fstest.User) fstest.FS { return &view{b.dir, u} }, Lacks: map[fstest.Ability]string{
		fstest.OwnRules: "the kernel checks modes itself",
	}}
	if os.Geteuid() != 0 {
		s.Lacks[fstest.Users] = "only root becomes another user"
	}
	return s
}

// startStock is start with stock servers. It skips the test without an installation of OrangeFS.
func startStock(t *testing.T, servers int) *bench {
	fusetest.Need(t)
	c := stock.Start(t, stock.Options{Servers: servers})
	t.Setenv("PVFS2KEY_FILE", c.KeyFile())
	b := &bench{source: c.Source()}
	b.on(t, setup{})
	return b
}

// onServers runs a test on three servers of ours over each method, and on stock ones.
func onServers(t *testing.T, do func(t *testing.T, b *bench)) {
	for _, method := range []string{pvfstest.TCP, pvfstest.ViaShm} {
		t.Run(method, func(t *testing.T) {
			do(t, start(t, setup{cluster: pvfstest.Options{Method: method, Servers: 3}}))
		})
	}
	t.Run("stock", func(t *testing.T) { do(t, startStock(t, 3)) })
}

// onStock is a subject on stock servers.
func onStock(t *testing.T) *fstest.Subject {
	s := subject(startStock(t, 2))
	s.Lacks[fstest.LongTargets] = "see docs/guides/orangefs.md"
	return s
}

// TestBehaviour runs the suite through system calls.
func TestBehaviour(t *testing.T) {
	overMethods(t, func(t *testing.T, turn int, s *fstest.Subject) {
		fstest.RunCases(t, fstest.All.Share(turn, parts()), func(fstest.T) *fstest.Subject { return s })
	})
}

// TestRandom compares with the model.
func TestRandom(t *testing.T) {
	overMethods(t, func(t *testing.T, _ int, s *fstest.Subject) {
		s.Seeds = sim.Seeds(t)
		fstest.Random(t, func(fstest.T) *fstest.Subject { return s })
	})
}

// TestRandomWithRestarts compares with the model while servers stop and start again.
func TestRandomWithRestarts(t *testing.T) {
	b := start(t, setup{cluster: pvfstest.Options{Method: pvfstest.TCP}, client: client.Options{RetryDelay: 10 * time.Millisecond}})
	s := subject(b)
	s.Seeds = sim.SeedsAtMost(t, 50)
	turn := 0
	s.Disturb = func(fstest.T) {
		b.cluster.Stop(turn % b.cluster.Len())
		b.cluster.Start(turn % b.cluster.Len())
		turn++
	}
	fstest.Random(t, func(fstest.T) *fstest.Subject { return s })
}

// TestStockBehaviour is TestBehaviour against stock servers.
func TestStockBehaviour(t *testing.T) {
	s := onStock(t)
	fstest.RunCases(t, fstest.All.Share(0, parts()), func(fstest.T) *fstest.Subject { return s })
}

// TestStockRandom is TestRandom against stock servers.
func TestStockRandom(t *testing.T) {
	s := onStock(t)
	s.Seeds = sim.Seeds(t)
	fstest.Random(t, func(fstest.T) *fstest.Subject { return s })
}
