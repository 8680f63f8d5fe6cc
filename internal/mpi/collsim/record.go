package collsim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
)

// A kind is the action of a rank in a step of its schedule.
type kind uint8

const (
	send      kind = iota // and wait until it has left
	recv                  // wait for it
	exchange              // send and receive, and wait for both
	begin                 // begin a send
	waitSends             // wait until all sends have left
)

// A step is one step of a schedule. A receive that is begun is not a step, but the wait
// for it is one.
type step struct {
	kind     kind
	to, from int32
	bytes    int32 // sent
}

// A recorder is a coll.Comm that records the schedule of one rank. Nothing is sent.
type recorder struct {
	rank, size int
	machine    *coll.Machine
	steps      []step
	err        error
}

var _ coll.Comm = (*recorder)(nil)

func (r *recorder) Rank() int              { return r.rank }
func (r *recorder) Size() int              { return r.size }
func (r *recorder) Machine() *coll.Machine { return r.machine }

func (r *recorder) add(k kind, to, from int, out []byte) {
	if len(out) > math.MaxInt32 {
		r.err = fmt.Errorf("collsim: rank %d sends %d bytes in a message, at most %d are simulated", r.rank, len(out), math.MaxInt32)
		return
	}
	r.steps = append(r.steps, step{kind: k, to: int32(to), from: int32(from), bytes: int32(len(out))})
}

// none is the rank of a step that does not send or does not receive.
const none = -1

func (r *recorder) Send(to int, b []byte) error {
	r.add(send, to, none, b)
	return nil
}

func (r *recorder) Recv(from int, _ []byte) error {
	r.add(recv, none, from, nil)
	return nil
}

func (r *recorder) Exchange(to int, out []byte, from int, _ []byte) error {
	r.add(exchange, to, from, out)
	return nil
}

func (r *recorder) Isend(to int, b []byte) (coll.Pending, error) {
	r.add(begin, to, none, b)
	return awaited{r, none}, nil
}

func (r *recorder) Irecv(from int, _ []byte) (coll.Pending, error) { return awaited{r, from}, nil }

// awaited is a send, or a receive from a rank, that was begun.
type awaited struct {
	r    *recorder
	from int
}

// Wait implements coll.Pending.
func (a awaited) Wait() error {
	if a.from == none {
		a.r.add(waitSends, none, none, nil)
	} else {
		a.r.add(recv, none, a.from, nil)
	}
	return nil
}

// A Job is an operation on a number of ranks.
type Job struct {
	Ranks int
	// Hierarchy: the operation knows which hosts its ranks are on.
	Hierarchy bool
	// Run is what one rank does. It must not depend on data; the contents of buffers are
	// arbitrary, and the ranks may use the same buffers.
	Run func(c coll.Comm, s *coll.Scratch) error
	// Period, if not 0, is a promise: rank r+Period does what rank r does, with all ranks
	// higher by Period, modulo Ranks. Then only the first ranks are recorded, and two
	// more to check the promise.
	Period int
}

// schedules are what all ranks do.
type schedules struct {
	ranks  int
	period int
	steps  [][]step // of the first ranks
}

func (s *schedules) of(rank int) []step { return s.steps[rank%s.period] }

// shift is the number to add to the ranks in the steps of a rank.
func (s *schedules) shift(rank int) int { return rank - rank%s.period }

func (s *schedules) at(rank, shift int) int { return (rank + shift) % s.ranks }

// record runs a job's ranks, one after the other.
func record(j Job, hosts *coll.Hosts) (*schedules, error) {
	s := &schedules{ranks: j.Ranks, period: j.Period}
	if s.period == 0 {
		s.period = j.Ranks
	}
	if s.period < 0 || j.Ranks%s.period != 0 {
		return nil, fmt.Errorf("collsim: %d ranks do not have a period of %d", j.Ranks, j.Period)
	}
	var scratch coll.Scratch
	one := func(rank int) ([]step, error) {
		r := &recorder{rank: rank, size: j.Ranks}
		if j.Hierarchy {
			r.machine = coll.NewMachine(r, hosts, nil)
		}
		err := errors.Join(j.Run(r, &scratch), r.err)
		return slices.Clip(r.steps), err
	}
	s.steps = make([][]step, s.period)
	var err error
	for rank := range s.steps {
		if s.steps[rank], err = one(rank); err != nil {
			return nil, fmt.Errorf("collsim: rank %d: %w", rank, err)
		}
	}
	for _, rank := range []int{j.Ranks / 2, j.Ranks - 1} {
		own, err := one(rank)
		if err != nil {
			return nil, fmt.Errorf("collsim: rank %d: %w", rank, err)
		}
		if !s.same(rank, own) {
			return nil, fmt.Errorf("collsim: rank %d does not do what rank %d does: there is no period of %d", rank, rank%s.period, s.period)
		}
	}
	return s, nil
}

// same tells whether a rank does the steps of its schedule.
func (s *schedules) same(rank int, own []step) bool {
	shift := s.shift(rank)
	return slices.EqualFunc(s.of(rank), own, func(a, b step) bool {
		if a.to != none {
			a.to = int32(s.at(int(a.to), shift))
		}
		if a.from != none {
			a.from = int32(s.at(int(a.from), shift))
		}
		return a == b
	})
}
