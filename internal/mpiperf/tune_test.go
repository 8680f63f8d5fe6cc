package mpiperf

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// tunedTable runs Tune on some ranks of this program, on hosts of each ranks.
func tunedTable(t *testing.T, ranks, each int, plan Plan) string {
	var table bytes.Buffer
	o := mpitest.Options{Each: func(_ int, o *mpi.Options) { o.RanksPerHost = each }}
	mpitest.Run(t, ranks, o, func(t *testing.T, p *mpi.Process) {
		if p.World().Rank() == 0 {
			assert.NoError(t, Tune(p, plan, &table))
		} else {
			assert.NoError(t, Tune(p, plan, nil))
		}
	})
	return table.String()
}

// TestTuneWritesATable that can be read, and has rules for every operation and every part of the job.
func TestTuneWritesATable(t *testing.T) {
	text := tunedTable(t, 5, 2, Plan{Tests: everyTest(t), Sizes: []int{8, 1000}, Ranks: []int{5, 2}, Iterations: 4, Batches: 2})
	table, err := coll.ParseTuning("table", strings.NewReader(text))
	require.NoError(t, err, text)
	type part struct {
		op    coll.Operation
		where coll.Where
		ranks int
	}
	got := make(map[part]int)
	last := make(map[part]int)
	for _, r := range table.Rules() {
		p := part{r.Operation, r.Where, r.Ranks}
		got[p]++
		last[p] = r.Bytes
	}
	want := 0
	for _, op := range coll.Operations {
		for _, p := range []part{{op, coll.OneHost, 2}, {op, coll.HostEach, 3}, {op, coll.ManyHosts, 5}} {
			assert.Positive(t, got[p], "%v in\n%s", p, text)
			assert.Equal(t, coll.NoLimit, last[p], "the last rule of %v has no limit", p)
			want++
		}
	}
	assert.Len(t, got, want)
	assert.Contains(t, text, "# mpibench --tune: 5 ranks, 5 consecutive ranks on 3 hosts, mem\n")
	assert.Regexp(t, `(?m)^#   8 B: linear [0-9.]+ .* hierarchical [0-9.]+ µs$`, text)
	assert.Regexp(t, `(?m)^#   1000 B: linear`, text)
	assert.NotContains(t, text, " 0.0 ")
}

// TestRulesOf measurements: an algorithm gives way to one that is clearly faster, in the middle
// between two sizes.
func TestRulesOf(t *testing.T) {
	sized := func(op coll.Operation, size int, linear, binomial float64) note {
		return note{op: op, where: coll.OneHost, ranks: 4, size: size, times: []algorithmTime{{coll.Linear, linear}, {coll.Binomial, binomial}}}
	}
	rule := func(op coll.Operation, bytes int, name coll.Choice) coll.Rule {
		return coll.Rule{Operation: op, Where: coll.OneHost, Ranks: 4, Bytes: bytes, Algorithm: name}
	}
	assert.Equal(t, []coll.Rule{rule(coll.OpBcast, 16, coll.Binomial), rule(coll.OpBcast, coll.NoLimit, coll.Linear)}, rulesOf([]note{
		sized(coll.OpBcast, 4, 3, 2),
		sized(coll.OpBcast, 8, 2, 2.09), // noise
		sized(coll.OpBcast, 32, 2, 2.2),
		sized(coll.OpBcast, 64, 2.01, 2),
	}))
	assert.Equal(t, []coll.Rule{rule(coll.OpAlltoallv, coll.NoLimit, coll.Linear)}, rulesOf([]note{
		sized(coll.OpAlltoallv, 8, 3, 2), sized(coll.OpAlltoallv, 64, 100, 200),
	}))
}

// TestTuneOfNothing is refused on all ranks.
func TestTuneOfNothing(t *testing.T) {
	for says, plan := range map[string]Plan{
		"none of the tests":             {Tests: []perf.Test{perf.Latency}},
		"one rank has nothing to tune":  {Tests: []perf.Test{"barrier"}, Ranks: []int{1}},
		"9 ranks of a job that has 2":   {Tests: []perf.Test{"barrier"}, Ranks: []int{9}},
		"none of the sizes is one":      {Tests: []perf.Test{"scan"}, Sizes: []int{7}},
		"takes 2147483648 bytes of mem": {Tests: []perf.Test{"scan"}, Sizes: []int{1 << 30}},
	} {
		mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
			err := Tune(p, plan, nil)
			require.ErrorIs(t, err, ErrPlan)
			assert.ErrorContains(t, err, says)
		})
	}
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		assert.ErrorContains(t, Tune(p, Plan{Tests: []perf.Test{"barrier"}}, nil), "a job of one rank")
	})
}

// TestDefaultSizes of a large job: too large ones are left out, and do not make the plan invalid.
func TestDefaultSizes(t *testing.T) {
	plan, err := Plan{Tests: []perf.Test{"alltoall"}}.forTuning(100_000)
	require.NoError(t, err)
	assert.Equal(t, tuneBytesMin, plan.Sizes[0])
	assert.Equal(t, tuneTime, plan.Time)
	assert.Less(t, plan.Sizes[len(plan.Sizes)-1], math.MaxInt32)
}
