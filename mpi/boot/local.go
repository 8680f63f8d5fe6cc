package boot

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// The limits of a local job are those of the strictest launcher, so that a program that works here
// works everywhere.
const (
	localKeyMax   = 63
	localValueMax = 1023
	secretBytes   = 32
)

var localJobs atomic.Int64

// A LocalBoot is a Boot of a job whose ranks share one OS process. Its methods may be called from
// several goroutines.
type LocalBoot struct {
	job  *localJob
	rank int
}

var _ Boot = (*LocalBoot)(nil)

// Local makes the Boots of a job of n ranks, n ≥ 1, in rank order. A rank that is closed without
// Finalize counts as dead: the others do not wait for it.
func Local(n int) ([]*LocalBoot, error) {
	if n < 1 {
		return nil, errclass.New(errclass.Arg, "a job has one process or more, not %d", n)
	}
	j := &localJob{
		id:     "local-" + strconv.FormatInt(localJobs.Add(1), 10),
		secret: make([]byte, secretBytes),
		new:    map[string]string{}, seen: map[string]string{},
		ranks:   make([]localRank, n),
		round:   make(chan struct{}),
		aborted: make(chan struct{}),
	}
	_, _ = rand.Read(j.secret) // never fails
	boots := make([]*LocalBoot, n)
	for i := range boots {
		boots[i] = &LocalBoot{job: j, rank: i}
	}
	return boots, nil
}

type localJob struct {
	id     string
	secret []byte

	mu        sync.Mutex
	new, seen map[string]string // pairs put since the latest fence, and before it
	ranks     []localRank
	round     chan struct{} // closed and replaced when a fence is complete

	aborted chan struct{} // closed when a rank aborts the job
	why     error         // set before aborted is closed
}

type localRank struct {
	waiting bool // in a fence
	gone    bool // closed
}

// Rank implements Boot.
func (b *LocalBoot) Rank() int { return b.rank }

// Size implements Boot.
func (b *LocalBoot) Size() int { return len(b.job.ranks) }

// JobID implements Boot.
func (b *LocalBoot) JobID() string { return b.job.id }

// KeyMax implements Boot.
func (b *LocalBoot) KeyMax() int { return localKeyMax }

// ValueMax implements Boot.
func (b *LocalBoot) ValueMax() int { return localValueMax }

// Secret implements Boot.
func (b *LocalBoot) Secret() []byte { return append([]byte(nil), b.job.secret...) }

// Put implements Boot.
func (b *LocalBoot) Put(ctx context.Context, key, value string) error {
	if err := CheckPair(b, key, value); err != nil {
		return err
	}
	j := b.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := b.usableLocked(ctx); err != nil {
		return err
	}
	_, fenced := j.seen[key]
	if _, put := j.new[key]; put || fenced {
		return errclass.New(errclass.Arg, "the key %q was put before: a key of a job can be put once", key)
	}
	j.new[key] = value
	return nil
}

// Get implements Boot.
func (b *LocalBoot) Get(ctx context.Context, key string) (string, error) {
	j := b.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := b.usableLocked(ctx); err != nil {
		return "", err
	}
	value, ok := j.seen[key]
	if !ok {
		return "", errclass.New(errclass.Arg, "no process put the key %q before the latest fence", key)
	}
	return value, nil
}

// Fence implements Boot.
func (b *LocalBoot) Fence(ctx context.Context) error {
	j := b.job
	j.mu.Lock()
	if err := b.usableLocked(ctx); err != nil {
		j.mu.Unlock()
		return err
	}
	if j.ranks[b.rank].waiting {
		j.mu.Unlock()
		return errclass.New(errclass.Other, "rank %d is in a fence already: a process calls one at a time", b.rank)
	}
	j.ranks[b.rank].waiting = true
	round := j.round
	j.advanceLocked()
	j.mu.Unlock()
	select {
	case <-round:
		return nil
	case <-j.aborted:
		return j.why
	case <-ctx.Done():
		return b.leaveFence(ctx, round)
	}
}

// leaveFence removes a rank from a fence for which it will not wait any longer, unless the fence is
// complete.
func (b *LocalBoot) leaveFence(ctx context.Context, round chan struct{}) error {
	j := b.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if round != j.round {
		return nil
	}
	j.ranks[b.rank].waiting = false
	return errclass.Wrap(errclass.Other, context.Cause(ctx), "rank %d gave up waiting for the others", b.rank)
}

// Abort implements Boot. Ranks that share a process cannot be ended, so it always returns.
// Afterwards the other ranks' calls of their Boots fail.
func (b *LocalBoot) Abort(code int, why string) error {
	j := b.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.why == nil {
		j.why = errclass.New(errclass.ProcAborted, "rank %d aborted the job with exit code %d: %s", b.rank, code, why)
		close(j.aborted)
	}
	return j.why
}

// Aborted is closed when a rank aborted the job.
func (b *LocalBoot) Aborted() <-chan struct{} { return b.job.aborted }

// Finalize implements Boot.
func (b *LocalBoot) Finalize(ctx context.Context) error { return b.Fence(ctx) }

// Close implements Boot. It may be called more than once.
func (b *LocalBoot) Close() error {
	j := b.job
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ranks[b.rank] = localRank{gone: true}
	j.advanceLocked()
	return nil
}

// usableLocked returns why a Boot cannot be used, or nil.
func (b *LocalBoot) usableLocked(ctx context.Context) error {
	switch {
	case b.job.why != nil:
		return b.job.why
	case b.job.ranks[b.rank].gone:
		return errclass.New(errclass.Other, "the Boot of rank %d is closed", b.rank)
	case ctx.Err() != nil:
		return errclass.Wrap(errclass.Other, context.Cause(ctx), "rank %d did not ask its job", b.rank)
	}
	return nil
}

// advanceLocked completes a fence if all live ranks wait in it.
func (j *localJob) advanceLocked() {
	alive := false
	for _, r := range j.ranks {
		if !r.gone && !r.waiting {
			return
		}
		alive = alive || r.waiting
	}
	if !alive {
		return
	}
	for key, value := range j.new {
		j.seen[key] = value
	}
	clear(j.new)
	for i := range j.ranks {
		j.ranks[i].waiting = false
	}
	close(j.round)
	j.round = make(chan struct{})
}
