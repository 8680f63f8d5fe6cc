package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/job"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// The plate of these tests, and when it is saved.
var plate = []string{"-rows", "83", "-cols", "71", "-steps", "400", "-every", "10", "-check"}

const same = "heat: the same as the serial solution, bit for bit\n"

// TestKills kills processes with kill -9, at moments that a seed chooses: when so many checkpoints are
// there, when a file of one appears, or when the job goes on after a death, and a little later. Those
// that are left go on. If none is left, the job is started again with another number of processes. In
// the end, the result is the serial one.
func TestKills(t *testing.T) {
	count := 200
	if testing.Short() {
		count = 4
	}
	b := job.Build(t)
	seed := sim.Seed(t)
	r := rand.New(rand.NewPCG(seed, 200))
	kills, restarts, survived := 0, 0, 0
	for kills < count {
		k := &killer{t: t, b: b, r: r, dir: filepath.Join(t.TempDir(), "store")}
		for try := 0; !k.run(count - kills - k.kills); try++ {
			require.Less(t, try, 50, "the job never comes to its end:\n%s", k.log)
			restarts++
		}
		kills += k.kills
		survived += k.survived
	}
	t.Logf("%d kills, %d of them survived within a job, %d jobs started again", kills, survived, restarts)
}

// A killer runs one computation, to its end.
type killer struct {
	t               *testing.T
	b               *job.Builder
	r               *rand.Rand
	dir             string
	kills, survived int
	log             string
}

// run runs a job, and kills at most so many of its processes. It tells whether the job has come to the
// end of the computation.
func (k *killer) run(most int) bool {
	s := job.Setting{N: 1 + k.r.IntN(5), Method: []string{"via+shm", "tcp"}[k.r.IntN(2)]}
	j := k.b.Start(k.t, s, []string{"-keep-going"}, append(slices.Clone(plate), "-checkpoint", k.dir)...)
	victims := k.r.Perm(s.N)
	switch n := s.N; {
	case k.r.IntN(3) > 0 && n > 1:
		victims = victims[:k.r.IntN(n)] // some are left
	case k.r.IntN(2) == 0:
		victims = nil
	}
	before := k.kills
	for _, rank := range victims[:min(len(victims), most)] {
		moment := k.moment(j)
		if !j.Until(moment) {
			break
		}
		for range k.r.IntN(4) * k.r.IntN(2000) {
			runtime.Gosched()
		}
		if j.Kill(k.t, rank) {
			k.kills++
		}
	}
	j.Wait()
	out := j.Out.String()
	k.log += fmt.Sprintf("%v, ranks %v are killed:\n%s%s\n", s, victims, out, j.Errs.String())
	assert.NotContains(k.t, j.Errs.String(), "in the serial solution", k.log)
	assert.NotContains(k.t, j.Errs.String(), "damaged", k.log)
	if !strings.Contains(out, same) {
		require.Positive(k.t, k.kills-before, "a job fails of which nobody was killed:\n%s", k.log)
		return false
	}
	k.survived += k.kills - before
	return true
}

// moment chooses a moment in a job, by its progress.
func (k *killer) moment(j *job.Running) func() bool {
	switch k.r.IntN(5) {
	case 0: // at once: at the start, or right after the kill before
		return func() bool { return true }
	case 1: // the job goes on from a checkpoint
		at := strings.Count(j.Out.String(), "goes on") + 1
		saved := strings.Count(j.Out.String(), "is saved") + 4
		return func() bool {
			out := j.Out.String()
			return strings.Count(out, "goes on") >= at || strings.Count(out, "is saved") >= saved
		}
	case 2: // a checkpoint is being written
		return k.appears(".data")
	case 3: // a checkpoint comes to exist
		return k.appears(".manifest.new")
	}
	saved := strings.Count(j.Out.String(), "is saved") + 1 + k.r.IntN(12)
	return func() bool { return strings.Count(j.Out.String(), "is saved") >= saved }
}

// appears waits for a file that is not there yet.
func (k *killer) appears(suffix string) func() bool {
	list := func() (names []string) {
		entries, err := os.ReadDir(k.dir)
		if err != nil {
			return nil // it is made by the job
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), suffix) {
				names = append(names, e.Name())
			}
		}
		return names
	}
	before := list()
	return func() bool {
		return slices.ContainsFunc(list(), func(name string) bool { return !slices.Contains(before, name) })
	}
}

// TestCheckpoints: a job that is started again goes on, also with another number of processes, and
// notices a checkpoint of another problem and a damaged one.
func TestCheckpoints(t *testing.T) {
	b := job.Build(t)
	dir := filepath.Join(t.TempDir(), "store")
	run := func(n int, args ...string) string {
		return b.MustRun(t, job.Setting{N: n, Method: "via+shm"}, append(slices.Clone(plate), append([]string{"-checkpoint", dir}, args...)...)...)
	}
	out := run(4, "-steps", "200", "-every", "90")
	assert.NotContains(t, out, "goes on")
	assert.Contains(t, out, "heat: step 90 is saved\nheat: step 180 is saved\n")
	out = run(3, "-steps", "300", "-every", "90")
	assert.Contains(t, out, "heat: goes on at step 180 with 3 processes\nheat: step 270 is saved\n")
	assert.Contains(t, out, same)
	fails := func(args ...string) string {
		return b.MustFail(t, job.Setting{N: 2, Method: "via+shm"}, append(slices.Clone(plate), append([]string{"-checkpoint", dir}, args...)...)...)
	}
	assert.Contains(t, fails("-rate", "0.2"), "made with -rate 0.25")
	assert.Contains(t, fails("-steps", "100"), "that of step 270")
	assert.Contains(t, fails("-rows", "84"), "shape")
	assert.Contains(t, fails("-every", "0"), "give 1 or more")

	newest := filepath.Join(dir, "checkpoint-000000003.data")
	data, err := os.ReadFile(newest)
	require.NoError(t, err)
	data[1000] ^= 1
	require.NoError(t, os.WriteFile(newest, data, 0o600))
	out, errs, err := b.Run(t, job.Setting{N: 2, Method: "via+shm"}, append(slices.Clone(plate), "-checkpoint", dir, "-every", "500")...)
	require.NoError(t, err, errs)
	assert.Contains(t, errs, "\"plate\" is damaged")
	assert.Contains(t, out, "heat: goes on at step 180 with 2 processes\n")
	assert.Contains(t, out, same)
}
