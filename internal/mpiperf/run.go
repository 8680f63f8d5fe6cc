package mpiperf

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// Run measures all points of a plan. Every rank of the job calls it with the same plan. Rank 0
// passes each result to report as soon as it is there; report may be nil on other ranks.
// ErrPlan is returned on all ranks before anything is measured. After any other error the job
// must be aborted, because other ranks may wait.
func Run(p *mpi.Process, plan Plan, report func(Result) error) error {
	w := p.World()
	plan, err := plan.checked(w.Size())
	if err != nil {
		return err
	}
	r := &runner{plan: plan, world: w, parts: map[int]*mpi.Comm{w.Size(): w}, method: methodOf(p), report: report}
	defer r.free()
	for _, t := range plan.Tests {
		s, _ := specOf(t)
		if err := r.test(s); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return nil
}

// pairRanks is the number of ranks of a test between two.
const pairRanks = 2

// A runner is one rank of the measurement.
type runner struct {
	plan   Plan
	world  *mpi.Comm
	parts  map[int]*mpi.Comm // by number of ranks
	method string
	report func(Result) error
}

// ranksOf are the numbers of ranks for a test.
func (r *runner) ranksOf(s spec) []int {
	if s.paired() {
		return []int{pairRanks}
	}
	return r.plan.Ranks
}

// part returns the communicator of the first n ranks; nil if this one takes no part. All ranks ask for the
// same ones in the same order.
func (r *runner) part(n int) (*mpi.Comm, error) {
	if c, made := r.parts[n]; made {
		return c, nil
	}
	color := mpi.Undefined
	if r.world.Rank() < n {
		color = 0
	}
	c, err := r.world.Split(forever, color, 0)
	r.parts[n] = c
	return c, err
}

func (r *runner) free() {
	for _, part := range r.parts {
		if part != nil && part != r.world {
			_ = part.Free() // the measurements are valid all the same
		}
	}
}

// test measures all points of a test. Ranks that take no part wait.
func (r *runner) test(s spec) error {
	for _, n := range r.ranksOf(s) {
		c, err := r.part(n)
		if err == nil && c != nil {
			err = r.points(s, c)
		}
		if err == nil {
			err = r.world.Barrier(forever)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// points measures a test with all sizes on a communicator.
func (r *runner) points(s spec, c *mpi.Comm) error {
	for _, size := range r.plan.sizesOf(s) {
		result, err := r.measure(s, c, size)
		if err == nil && c.Rank() == 0 {
			err = r.report(result)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measure measures a point. The result is at rank 0.
func (r *runner) measure(s spec, c *mpi.Comm, size int) (Result, error) {
	p := &point{spec: s, c: c, size: size, window: r.plan.windowOf(s, size)}
	var err error
	if p.job, err = s.open(c, setup{size: size, window: p.window, created: r.plan.Created, file: r.plan.File}); err != nil {
		return Result{}, err
	}
	if r.plan.Check {
		if err := p.check(); err != nil {
			return Result{}, err
		}
	}
	if r.plan.OwnProcess {
		// The measured code does not allocate; the collector is not part of it and must not
		// use a core.
		runtime.GC()
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
	}
	times, steps, err := p.measure(r.plan)
	if end, ok := p.job.(interface{ close() error }); ok && err == nil {
		err = end.close()
	}
	if err != nil || c.Rank() != 0 {
		return Result{}, err
	}
	result := resultOf(p, times, steps)
	result.Method = r.method
	if r.plan.Check {
		result.Checked = checkRounds
	}
	return result, nil
}

// methodOf is the methods that the process's messages may use: those on which it listens.
func methodOf(p *mpi.Process) string {
	var names []string
	for _, address := range p.Endpoint().Addresses() {
		name, _, _ := strings.Cut(address, "://")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}
