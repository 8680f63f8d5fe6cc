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
	var took time.Duration
	var err error
	if p.apart {
		took, err = p.oneByOne(n)
	} else {
		took, err = p.together(n)
	}
	return max(1, float64(took.Nanoseconds())) / float64(n), err
}

func (p *point) together(n int) (time.Duration, error) {
	start := time.Now()
	for range n {
		if err := p.job.once(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

func (p *point) oneByOne(n int) (took time.Duration, err error) {
	for range n {
		start := time.Now()
		if err := p.job.once(); err != nil {
			return 0, err
		}
		took += time.Since(start)
		if err := p.c.Barrier(forever); err != nil {
			return 0, err
		}
	}
	return took, nil
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
		// Rank 0's decision: whether to continue, and with how many iterations; or the
		// batches.
		word := []int64{1, int64(n) * int64(min(max(target/took+1, 2), growthMax)), 0}
		if took >= target {
			batches, steps := perf.Batches(budget, time.Duration(step))
			word = []int64{0, int64(batches), int64(steps)}
		}
		if err := p.c.Bcast(forever, mpi.Slice(word), 0); err != nil {
			return 0, 0, err
		}
		if word[0] == 0 {
			return int(word[1]), int(word[2]), nil
		}
		n = int(word[1])
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
		ranks := []int64{0}
		if wrong != nil {
			ranks[0] = 1
		}
		if err := p.c.Allreduce(forever, mpi.InPlace, mpi.Slice(ranks), mpi.Sum); err != nil {
			return err
		}
		if ranks[0] > 0 {
			if wrong == nil {
				wrong = fmt.Errorf("correct here, but wrong on %d other ranks", ranks[0])
			}
			return fmt.Errorf("mpiperf: %s of %s on %d ranks, round %d, at rank %d: %w",
				p.test, perf.FormatSize(p.size), p.c.Size(), round, p.c.Rank(), wrong)
		}
	}
	return nil
}
