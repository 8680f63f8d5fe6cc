package mpitest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// Memory is the method of package bmi/bmitest, which is the default.
const Memory = "mem"

// Options configure a job. The zero value runs it over Memory.
type Options struct {
	// Method is mpi.Options.Method.
	Method string
	// TimeMax limits the job; 0 means ten minutes, as a busy machine may be slow. After that the test
	// fails with the stacks of all goroutines.
	TimeMax time.Duration
	// Leave: Run does not finalize the ranks, because fn does or the test must not.
	Leave bool
	// Each may change the options of a rank.
	Each func(rank int, o *mpi.Options)
}

const (
	timeMax = 10 * time.Minute
	// endTimeMax is how long ranks may take to end after their endpoints are closed.
	endTimeMax = time.Minute
	stackBytes = 1 << 20
)

// Run runs fn on n ranks at once and waits for all. If fn does not return on a rank, because it
// failed the test or panicked, the rank counts as dead, and operations of the others with it fail.
func Run(t *testing.T, n int, o Options, fn func(t *testing.T, p *mpi.Process)) {
	t.Helper()
	if o.Method == "" {
		o.Method = Memory
	}
	if o.TimeMax == 0 {
		o.TimeMax = timeMax
	}
	boots, err := boot.Local(n)
	require.NoError(t, err)
	j := &job{t: t, o: o, fn: fn}
	ctx, cancel := context.WithTimeout(context.Background(), o.TimeMax)
	defer cancel()
	for rank := range n {
		j.ranks.Go(func() { j.run(ctx, boots[rank]) })
	}
	ended := make(chan struct{})
	go func() {
		j.ranks.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	stacks := make([]byte, stackBytes)
	stacks = stacks[:runtime.Stack(stacks, true)]
	t.Errorf("mpitest: %d ranks over %s did not end within %v:\n%s", n, o.Method, o.TimeMax, stacks)
	j.closeAll()
	select {
	case <-ended:
	case <-time.After(endTimeMax):
		t.Fatal("mpitest: not even after their endpoints were closed")
	}
}

// boots are the launchers of all ranks, by *mpi.Process.
var boots sync.Map

// A job is one call of Run.
type job struct {
	t     *testing.T
	o     Options
	fn    func(t *testing.T, p *mpi.Process)
	ranks sync.WaitGroup

	mu    sync.Mutex
	procs []*mpi.Process // processes that have begun; guarded by mu
}

// run runs one rank.
func (j *job) run(ctx context.Context, b *boot.LocalBoot) {
	o := mpi.Options{Boot: b, Method: j.o.Method}
	if j.o.Each != nil {
		j.o.Each(b.Rank(), &o)
	}
	p, err := mpi.Init(ctx, o)
	boots.Store(p, b)
	defer boots.Delete(p)
	if !assert.NoError(j.t, err, "rank %d", b.Rank()) {
		return
	}
	j.mu.Lock()
	j.procs = append(j.procs, p)
	j.mu.Unlock()
	returned := false
	defer func() {
		if returned {
			return
		}
		j.t.Logf("mpitest: rank %d did not return; it counts as dead", b.Rank())
		Kill(p)
	}()
	j.fn(j.t, p)
	returned = true
	if j.o.Leave {
		return
	}
	if err := p.Finalize(ctx); err != nil {
		assert.NoError(j.t, err, "finalizing rank %d", b.Rank())
		Kill(p)
	}
}

// Kill ends a rank as if its process had died: without notice to the others.
func Kill(p *mpi.Process) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.Endpoint().Shutdown(ctx) // unsent messages are lost, as they should be
	if b, ok := boots.Load(p); ok {
		_ = b.(*boot.LocalBoot).Close() // of a rank that counts as dead
	}
}

func (j *job) closeAll() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, p := range j.procs {
		Kill(p)
	}
}

// Over runs fn as a subtest for each of the methods.
func Over(t *testing.T, methods []string, fn func(t *testing.T, o Options)) {
	t.Helper()
	for _, method := range methods {
		t.Run(fmt.Sprintf("over=%s", method), func(t *testing.T) { fn(t, Options{Method: method}) })
	}
}
