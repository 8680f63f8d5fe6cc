package mpiperf

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
)

// tuned are the tests by which the algorithms of an operation are measured. Variants of an
// operation with the same algorithms are measured once.
var tuned = map[perf.Test]coll.Operation{
	"barrier": coll.OpBarrier, "bcast": coll.OpBcast, "gather": coll.OpGather, "scatter": coll.OpScatter,
	"allgather": coll.OpAllgather, "allgatherv": coll.OpAllgatherv, "alltoall": coll.OpAlltoall, "alltoallv": coll.OpAlltoallv,
	"reduce": coll.OpReduce, "allreduce": coll.OpAllreduce, "reduce_scatter": coll.OpReduceScatter, "scan": coll.OpScan, "exscan": coll.OpExscan,
}

const (
	// tuneTime is the default time for a point. There are hundreds.
	tuneTime = 20 * time.Millisecond
	// tuneBytesMin, tuneBytesMax and tuneStep are the default sizes.
	tuneBytesMin, tuneBytesMax, tuneStep = 8, 1 << 20, 4
	// tuneMemoryMax is the most memory of a rank for a point; larger sizes are left out.
	tuneMemoryMax = 256 << 20
	// tuneGain is how much faster than the algorithm of the next smaller size another one must be
	// to take its place: differences below it are noise.
	tuneGain = 1.05
)

// Tune measures the algorithms of collective operations and writes, at rank 0, a table for
// mpi.Options.Tuning: the fastest algorithm by operation, ranks and size. All ranks of the job call
// it with the same plan. The tests of the plan choose the operations. Tests without algorithms to choose from
// are ignored.
//
// If the job has several hosts with several ranks, the table also has the steps of hierarchical
// algorithms: on the ranks of one host, and on one rank of each host. They are measured first,
// because what is best for all depends on them.
func Tune(p *mpi.Process, plan Plan, w io.Writer) error {
	world := p.World()
	plan, err := plan.forTuning(world.Size())
	if err != nil {
		return err
	}
	t := &tuner{plan: plan}
	if hosts := world.Hosts(); hosts.Where() == coll.ManyHosts {
		if err := t.steps(world, hosts); err != nil {
			return err
		}
	}
	if err := t.onFirst(world); err != nil || world.Rank() != 0 {
		return err
	}
	table, err := coll.NewTuning(t.rules)
	if err != nil {
		return err
	}
	return t.write(w, p, table)
}

// forTuning returns the plan with the defaults of Tune.
func (p Plan) forTuning(ranks int) (Plan, error) {
	if ranks < 2 {
		return p, fmt.Errorf("%w: a job of one rank has nothing to tune: start it by mpiexec", ErrPlan)
	}
	p.Tests = slices.DeleteFunc(slices.Clone(p.Tests), func(t perf.Test) bool { return tuned[t] == "" })
	if len(p.Tests) == 0 {
		return p, fmt.Errorf("%w: none of the tests is one of an operation with several algorithms", ErrPlan)
	}
	if p.Time == 0 && p.Iterations == 0 {
		p.Time = tuneTime
	}
	standard := p.Sizes == nil
	if standard {
		p.Sizes = []int{tuneBytesMin} // which fits any number of ranks
	}
	p, err := p.checked(ranks)
	if standard {
		p.Sizes = nil
		for n := tuneBytesMin; n <= tuneBytesMax; n *= tuneStep {
			p.Sizes = append(p.Sizes, n)
		}
	}
	p.Ranks = slices.Compact(slices.Sorted(slices.Values(p.Ranks)))
	if n := slices.Max(p.Ranks); err == nil && n < 2 {
		err = fmt.Errorf("%w: one rank has nothing to tune: give --ranks of 2 or more", ErrPlan)
	}
	return p, err
}

// A tuner is one rank of Tune.
type tuner struct {
	plan  Plan
	rules []coll.Rule
	// notes are the measurements behind the rules, for comments: one for each size. They are known at
	// rank 0 of a communicator.
	notes []note
}

// A note is what the algorithms took at one size.
type note struct {
	op    coll.Operation
	where coll.Where
	ranks int
	size  int
	times []algorithmTime
}

type algorithmTime struct {
	name   coll.Choice
	micros float64
}

// steps tunes the parts on which hierarchical algorithms work. All hosts measure at once, and that
// of rank 0 counts.
func (t *tuner) steps(world *mpi.Comm, hosts *coll.Hosts) error {
	of := hosts.Of()
	host := int(of[world.Rank()])
	local, err := world.Split(forever, host, 0)
	if err != nil {
		return err
	}
	defer func() { _ = local.Free() }() // the measurements are valid all the same
	color := mpi.Undefined
	if slices.Index(of, int32(host)) == world.Rank() {
		color = 0
	}
	leaders, err := world.Split(forever, color, 0)
	if err != nil {
		return err
	}
	if leaders != nil {
		defer func() { _ = leaders.Free() }()
	}
	for _, c := range []*mpi.Comm{local, leaders} {
		if c != nil && c.Size() > 1 {
			if err := t.on(c); err != nil {
				return err
			}
		}
		if err := t.agree(world); err != nil {
			return err
		}
	}
	return nil
}

// agree gives all ranks the rules of rank 0, which later measurements use. Ranks that have not
// measured wait here for the others.
func (t *tuner) agree(world *mpi.Comm) error {
	var text []byte
	if world.Rank() == 0 {
		table, err := coll.NewTuning(t.rules)
		if err != nil {
			return err
		}
		text = []byte(table.String())
	}
	length := []int{len(text)}
	if err := world.Bcast(forever, mpi.Slice(length), 0); err != nil {
		return err
	}
	if world.Rank() != 0 {
		text = make([]byte, length[0])
	}
	if err := world.Bcast(forever, mpi.Slice(text), 0); err != nil {
		return err
	}
	table, err := coll.ParseTuning("the rules of rank 0", bytes.NewReader(text))
	if err != nil {
		return err
	}
	t.rules = table.Rules()
	return nil
}

// onFirst tunes the first ranks of the job, for each number of ranks in the plan.
func (t *tuner) onFirst(world *mpi.Comm) error {
	for _, n := range t.plan.Ranks {
		color := mpi.Undefined
		if world.Rank() < n {
			color = 0
		}
		c, err := world.Split(forever, color, 0)
		if err != nil {
			return err
		}
		if c != nil {
			if n > 1 {
				err = t.on(c)
			}
			if err == nil {
				err = c.Free()
			}
		}
		if err != nil {
			return err
		}
		if err := t.agree(world); err != nil {
			return err
		}
	}
	return nil
}

// on tunes all operations on a communicator, and adds rules and notes.
func (t *tuner) on(c *mpi.Comm) error {
	for _, test := range t.plan.Tests {
		s, _ := specOf(test)
		op := tuned[test]
		var found []note
		for _, size := range t.plan.sizesOf(s) {
			if s.memory(size, c.Size(), 1) > tuneMemoryMax {
				continue
			}
			n, err := t.measure(c, s, op, size)
			if err != nil {
				return fmt.Errorf("%s: %w", op, err)
			}
			found = append(found, n)
		}
		if len(found) == 0 {
			continue
		}
		t.notes = append(t.notes, found...)
		rules, err := t.share(c, found)
		if err != nil {
			return err
		}
		t.rules = append(t.rules, rules...)
	}
	return nil
}

// share returns the rules that rank 0 derives from its measurements, on all ranks.
func (t *tuner) share(c *mpi.Comm, found []note) ([]coll.Rule, error) {
	one := &tuner{}
	if c.Rank() == 0 {
		one.rules = rulesOf(found)
	}
	err := one.agree(c)
	return one.rules, err
}

// measure measures all algorithms of an operation that can serve on a communicator. Times are known
// at rank 0.
func (t *tuner) measure(c *mpi.Comm, s spec, op coll.Operation, size int) (note, error) {
	hosts := c.Hosts()
	n := note{op: op, where: hosts.Where(), ranks: c.Size(), size: size}
	for _, a := range coll.Algorithms(op) {
		if !a.Serves(c.Size(), hosts, true) {
			continue
		}
		only := coll.Rule{Operation: op, Where: n.where, Ranks: coll.NoLimit, Bytes: coll.NoLimit, Algorithm: a.Name}
		table, err := coll.NewTuning(append([]coll.Rule{only}, t.rules...))
		if err != nil {
			return n, err
		}
		if err := c.SetTuning(forever, table); err != nil {
			return n, err
		}
		r := &runner{plan: t.plan}
		result, err := r.measure(s, c, size)
		if err != nil {
			return n, fmt.Errorf("%s: %w", a.Name, err)
		}
		n.times = append(n.times, algorithmTime{name: a.Name, micros: result.Max})
	}
	return n, nil
}

// rulesOf derives the rules of an operation on some ranks from measurements in the order of sizes.
func rulesOf(found []note) []coll.Rule {
	first := found[0]
	rule := coll.Rule{Operation: first.op, Where: first.where, Ranks: first.ranks, Bytes: coll.NoLimit}
	if first.op == coll.OpAlltoallv { // no rank knows its size
		rule.Algorithm = overall(found)
		return []coll.Rule{rule}
	}
	var rules []coll.Rule
	for i, n := range found {
		best := slices.MinFunc(n.times, func(a, b algorithmTime) int { return compare(a.micros, b.micros) })
		if i > 0 {
			if n.of(rule.Algorithm) <= best.micros*tuneGain {
				continue
			}
			rule.Bytes = between(found[i-1].size, n.size)
			rules = append(rules, rule)
		}
		rule.Algorithm, rule.Bytes = best.name, coll.NoLimit
	}
	return append(rules, rule)
}

// of returns the time of an algorithm.
func (n note) of(name coll.Choice) float64 {
	i := slices.IndexFunc(n.times, func(a algorithmTime) bool { return a.name == name })
	return n.times[i].micros
}

// overall returns the algorithm that is best over all sizes, by the mean of the ratios.
func overall(found []note) coll.Choice {
	best := slices.MinFunc(found[0].times, func(a, b algorithmTime) int {
		var ratio float64
		for _, n := range found {
			ratio += math.Log(n.of(a.name) / n.of(b.name))
		}
		return compare(ratio, 0)
	})
	return best.name
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// between returns the size in the middle of two, on a logarithmic scale.
func between(a, b int) int { return int(math.Sqrt(float64(a) * float64(b))) }

// write writes the table. Behind the rules of an operation, comments say what was measured.
func (t *tuner) write(w io.Writer, p *mpi.Process, table *coll.Tuning) error {
	header, lines, _ := strings.Cut(table.String(), "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# mpibench --tune: %d ranks, %s, %s\n# operation where ranks bytes algorithm\n",
		header, p.World().Size(), orOneHost(p.World().Hosts()), methodOf(p))
	written := 0
	for i, line := range strings.Split(strings.TrimSuffix(lines, "\n"), "\n") {
		fmt.Fprintln(&b, line)
		r := t.rules[i]
		if i+1 < len(t.rules) {
			if next := t.rules[i+1]; next.Operation == r.Operation && next.Where == r.Where && next.Ranks == r.Ranks {
				continue
			}
		}
		for ; written < len(t.notes) && t.notes[written].fits(r); written++ {
			fmt.Fprintln(&b, t.notes[written])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orOneHost(h *coll.Hosts) string {
	if h == nil {
		return "one host"
	}
	return h.String()
}

func (n note) fits(r coll.Rule) bool {
	return n.op == r.Operation && n.where == r.Where && n.ranks == r.Ranks
}

// String returns a comment of a table.
func (n note) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#   %s:", perf.FormatSize(n.size))
	for _, a := range n.times {
		fmt.Fprintf(&b, " %s %.1f", a.name, a.micros)
	}
	return b.String() + " µs"
}
