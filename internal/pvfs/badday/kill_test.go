package badday_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/pvfsd"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// kills is how many times TestKill kills a server over each method, unless VIADUCT_KILLS says otherwise.
const kills = 40

// killsOfRound is the number of kills between two checks of everything.
const killsOfRound = 20

// strikeAfter is the largest number of the workers' operations between two kills.
const strikeAfter = 200

// orphans are the problems that a kill may leave. They are invisible, and repair removes the object or gives it a name.
var orphans = []string{"has no name", "datafile without metafile", "dirdata object without directory", "which has another name"}

// TestKill kills servers at any moment while clients work: one of them, both at once, and again during their start. Clients with
// retries notice nothing. Others get an error, and then find one of the allowed states. Check finds only orphans, repair removes
// them, and all acknowledged changes exist.
func TestKill(t *testing.T) {
	for _, method := range []string{"tcp", "via+shm"} {
		t.Run(method, func(t *testing.T) {
			count := kills
			if testing.Short() {
				count /= 10
			} else if race.Enabled {
				count /= 4
			}
			count = number(t, "VIADUCT_KILLS", count)
			seed := sim.Seed(t)
			s := newStorm(t, method, seed)
			s.fs.start()
			for _, w := range s.workers {
				require.NoError(t, w.begin())
			}
			for s.kills < count {
				s.round(min(killsOfRound, count-s.kills))
			}
			s.report()
		})
	}
}

// A storm is the run of TestKill on one file system.
type storm struct {
	t       *testing.T
	fs      *fileSystem
	rng     *rand.Rand
	workers []*worker
	done    atomic.Int64 // operations of the workers
	working atomic.Int64 // workers that have not yet failed in this round
	kills   int
	found   map[string]int
}

func newStorm(t *testing.T, method string, seed uint64) *storm {
	s := &storm{t: t, rng: rand.New(rand.NewPCG(seed, 0)), found: map[string]int{}}
	s.fs = newFileSystem(t, method, 2, func(o *config.GenOptions) {
		o.DistrDir = config.DistrDir{Initial: 1, Max: 2, Split: 6}
		o.NoSyncMeta = method != "tcp" // a kill is not a power cut: both settings must hold
	})
	s.fs.start()
	look := s.fs.mount(fresh(patient()))
	for i := range 4 {
		w := &worker{dir: fmt.Sprintf("/worker%d", i), look: look, patient: i%2 == 0, rng: rand.New(rand.NewPCG(seed, uint64(i)+1))}
		if w.patient {
			w.fs = s.fs.mount(patient())
		} else {
			w.fs = s.fs.mount(fresh(client.Options{RetryLimit: -1}))
		}
		s.workers = append(s.workers, w)
	}
	return s
}

// round kills count servers while the workers work, and then checks everything.
func (s *storm) round(count int) {
	var stop atomic.Bool
	var wait sync.WaitGroup
	errs := make([]error, len(s.workers))
	s.working.Store(int64(len(s.workers)))
	for i, w := range s.workers {
		wait.Go(func() {
			defer s.working.Add(-1)
			for !stop.Load() && errs[i] == nil {
				errs[i] = w.step()
				s.done.Add(1)
			}
		})
	}
	for end := s.kills + count; s.kills < end; {
		s.strike()
	}
	stop.Store(true)
	wait.Wait()
	for _, err := range errs {
		require.NoError(s.t, err, s.log())
	}
	s.verify("after the kills")
	s.fs.kill()
	s.check()
	s.fs.start()
	s.verify("after the repair")
}

// strike lets the workers do some operations, kills one server or both, perhaps again during their start, and waits until they
// serve.
func (s *storm) strike() {
	s.operations(strikeAfter)
	s.sleep(10)
	all := s.fs.servers
	targets := all
	if s.rng.IntN(4) > 0 {
		targets = all[s.rng.IntN(len(all)):][:1]
	}
	s.slay(targets)
	for s.rng.IntN(3) == 0 {
		for _, d := range targets {
			d.start()
		}
		s.sleep(60)
		s.slay(targets)
	}
	s.sleep(40)
	s.fs.start()
}

// operations waits until the workers have done up to most operations, or one of them has failed.
func (s *storm) operations(most int) {
	for end := s.done.Load() + s.rng.Int64N(int64(most)); s.done.Load() < end && s.working.Load() == int64(len(s.workers)); {
		time.Sleep(time.Millisecond)
	}
}

func (s *storm) slay(targets []*daemon) {
	for _, d := range targets {
		d.kill()
		s.kills++
	}
}

func (s *storm) sleep(most int) {
	time.Sleep(time.Duration(s.rng.IntN(most*1000)) * time.Microsecond)
}

func (s *storm) verify(when string) {
	s.t.Helper()
	for _, w := range s.workers {
		require.NoError(s.t, w.verify(), "%s\n%s", when, s.log())
	}
}

func (s *storm) log() string {
	var all strings.Builder
	for _, d := range s.fs.servers {
		fmt.Fprintf(&all, "%s said:\n%s\n", d.alias, d.heard())
	}
	return all.String()
}

// check checks the disks after the kills.
func (s *storm) check() {
	lines, code := s.fs.check()
	if code != pvfsd.ExitOK {
		for _, line := range lines {
			s.orphan(line)
		}
	}
	for tries := 0; ; tries++ { // a repair may reveal more
		lines, code = s.fs.check("--repair")
		if code == pvfsd.ExitOK && len(lines) == 1 {
			break
		}
		require.Less(s.t, tries, 4, "repair comes to no end: %q", lines)
		for _, line := range lines {
			if !strings.Contains(line, "is in order") {
				assert.Contains(s.t, line, "(repaired)")
			}
		}
	}
	lines, code = s.fs.check()
	require.Equal(s.t, pvfsd.ExitOK, code, "%q", lines)
}

// orphan requires that a problem is one that a kill may leave.
func (s *storm) orphan(line string) {
	if !isOrphan(line) {
		s.t.Errorf("a kill left: %s", line)
		return
	}
	for _, what := range orphans {
		if strings.Contains(line, what) {
			s.found[what]++
		}
	}
}

// isOrphan reports whether a problem is one of orphans.
func isOrphan(problem string) bool {
	return slices.ContainsFunc(orphans, func(what string) bool { return strings.Contains(problem, what) })
}

func (s *storm) report() {
	done, unsure, big := 0, 0, 0
	for _, w := range s.workers {
		done, unsure, big = done+w.done, unsure+w.unsure, big+w.big
	}
	s.t.Logf("%d kills, %d operations of which %d failed, %d directories divided; left behind and repaired: %v", s.kills, done, unsure, big, s.found)
}
