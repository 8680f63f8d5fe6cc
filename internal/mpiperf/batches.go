package mpiperf

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// A point is one rank's side of a test with one size on one communicator.
type point struct {
	spec
	c            *mpi.Comm
	size, window int
	job          job
}

// run runs n iterations and returns how long one took on this rank, in nanoseconds. All
// ranks start together.
func (p *point) run(n int) (float64, error) {
	if err := p.job.ready(n); err != nil {
		return 0, err
	}
	if err := p.c.Barrier(forever); err != nil {
		return 0, err
	}
	together := n
	if p.apart {
		together = 1
	}
	var took time.Duration
	for range n / together {
		start := time.Now()
		for range together {
			if err := p.job.once(); err != nil {
				return 0, err
			}
		}
		took += time.Since(start)
		if p.apart {
			if err := p.c.Barrier(forever); err != nil {
				return 0, err
			}
		}
	}
	return max(1, float64(took.Nanoseconds())) / float64(n), nil
}

// fitting runs more and more iterations until they fill the warm-up of a budget, and
// returns the batches that fill the rest. Rank 0 decides for all.
func (p *point) fitting(budget time.Duration) (batches, steps int, err error) {
	const growthMax = 64 // the first iteration may be a hundred times slower than the next
	target := float64(perf.WarmUp(budget).Nanoseconds())
	for n := 1; ; {
		step, err := p.run(n)
		if err != nil {
			return 0, 0, err
		}
		took := step * float64(n)
		// Rank 0's decision: the batches, or with how many iterations to continue.
		var its struct{ Batches, Steps, More int64 }
		if took < target {
			its.More = int64(n) * int64(min(max(target/took+1, 2), growthMax))
		} else {
			batches, steps := perf.Batches(budget, time.Duration(step))
			its.Batches, its.Steps = int64(batches), int64(steps)
		}
		if err := p.c.Bcast(forever, mpi.Value(&its), 0); err != nil {
			return 0, 0, err
		}
		if its.More == 0 {
			return int(its.Batches), int(its.Steps), nil
		}
		n = int(its.More)
	}
}

// measure returns, at rank 0, the time of an iteration in each batch on each rank, by rank,
// and the iterations of a batch.
func (p *point) measure(plan Plan) (times [][]float64, steps int, err error) {
	warmUp, batches, steps := plan.shape(p.spec, p.size, p.window)
	if plan.Time > 0 {
		batches, steps, err = p.fitting(plan.Time)
	} else {
		_, err = p.run(warmUp)
	}
	if err != nil {
		return nil, 0, err
	}
	mine := make([]float64, batches)
	for i := range mine {
		if mine[i], err = p.run(steps); err != nil {
			return nil, 0, err
		}
	}
	var all []float64
	if p.c.Rank() == 0 {
		all = make([]float64, batches*p.c.Size())
	}
	if err := p.c.Gather(forever, mpi.Slice(mine), mpi.Slice(all), 0); err != nil {
		return nil, 0, err
	}
	for ; len(all) > 0; all = all[batches:] {
		times = append(times, all[:batches:batches])
	}
	return times, steps, nil
}

// checkRounds is how often the contents of a point's messages are checked.
const checkRounds = 3

// check runs iterations whose contents are checked. An error of one rank is returned on all
// ranks, so that none waits for it.
func (p *point) check() error {
	for round := range checkRounds {
		p.job.fill(round)
		if _, err := p.run(1); err != nil {
			return err
		}
		wrong := p.job.check(round)
		ranks := 0
		if wrong != nil {
			ranks = 1
		}
		if err := p.c.Allreduce(forever, mpi.InPlace, mpi.Value(&ranks), mpi.Sum); err != nil {
			return err
		}
		if ranks > 0 {
			if wrong == nil {
				wrong = fmt.Errorf("correct here, but wrong on %d other ranks", ranks)
			}
			return fmt.Errorf("mpiperf: %s of %s on %d ranks, round %d, at rank %d: %w",
				p.test, perf.FormatSize(p.size), p.c.Size(), round, p.c.Rank(), wrong)
		}
	}
	return nil
}
