package jobtest

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// howVariable says how a process is lost.
const howVariable = "JOBTEST_HOW"

// lose ends this process in that way.
func lose() {
	if os.Getenv(howVariable) == "exit" {
		os.Exit(0) // without Finalize
	}
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	wallclock.Forever()
}

// noticeTimeMax is how long the others may take to find out: processes on other hosts ask the lost
// one for signs of life.
const noticeTimeMax = wallclock.Patience

// outlive loses rank 1 during collective operations, and then rank 0. The others get errors, give
// up their common communicators, agree, and compute without the lost ones.
func outlive(t *checker, p *mpi.Process) {
	w, c := p.World(), p.World()
	for deaths, victim := range []int{1, 0} {
		if c.Size() < 3 {
			return
		}
		inC, err := w.Group().TranslateRanks([]int{victim}, c.Group())
		require.NoError(t, err)
		last, err := exchangeUntilLost(t, c, w.Rank() == victim, inC[0])
		require.False(t, last.IsZero(), "an operation failed before anybody was lost: %v", err)
		noticed := time.Since(last)
		class := errclass.Of(err)
		require.True(t, class == mpi.ErrProcFailed || class == mpi.ErrRevoked, "%v", err)
		require.Less(t, noticed, noticeTimeMax)
		require.NoError(t, c.Revoke())
		shrunk, err := c.Shrink(bg)
		require.NoError(t, err)
		require.Equal(t, w.Size()-deaths-1, shrunk.Size())
		require.ErrorIs(t, c.Barrier(bg), mpi.ErrRevoked)
		c = shrunk
		flag, err := c.Agree(bg, ^uint64(0)&^(1<<c.Rank()))
		require.NoError(t, err)
		require.Equal(t, ^uint64(0)<<c.Size(), flag)
		ring(t, c)
		sum := []int{0}
		require.NoError(t, c.Allreduce(bg, mpi.Slice([]int{1}), mpi.Slice(sum), mpi.Sum))
		require.Equal(t, c.Size(), sum[0])
	}
}

// exchangeUntilLost makes all processes tell each other the time, until the victim is lost; last is
// the last time received from it.
func exchangeUntilLost(t *checker, c *mpi.Comm, victim bool, victimsRank int) (last time.Time, err error) {
	times := make([]int64, c.Size())
	for i := 0; ; i++ {
		if victim && i == 25 {
			lose()
		}
		err := c.Allgather(bg, mpi.Slice([]int64{time.Now().UnixNano()}), mpi.Slice(times))
		if err != nil {
			return last, err
		}
		last = time.Unix(0, times[victimsRank])
	}
}

// standBy makes rank 0 kill rank 1, while that waits for a message. A process that waits for rank 1
// gets an error; other messages still arrive.
func standBy(t *checker, p *mpi.Process) {
	w := p.World()
	pids := make([]int, w.Size())
	require.NoError(t, w.Allgather(bg, mpi.Slice([]int{os.Getpid()}), mpi.Slice(pids)))
	require.NoError(t, w.Barrier(bg)) // connects every process with every other
	// A receive that rank 1 might match ends, but not without a reason.
	x := []int{0}
	switch w.Rank() {
	case 0:
		receive := w.Irecv(mpi.Slice(x), 1, 7)
		_, err := w.Recv(bg, mpi.Slice(x), 1, 6) // it has posted its receive, or will soon
		require.NoError(t, err)
		require.NoError(t, unix.Kill(pids[1], unix.SIGKILL))
		began := time.Now()
		_, err = receive.Wait(bg)
		require.ErrorIs(t, err, mpi.ErrProcFailed)
		require.Less(t, time.Since(began), noticeTimeMax)
		require.ErrorIs(t, w.Send(bg, mpi.Slice(x), 1, 7), mpi.ErrProcFailed)
		_, err = w.Recv(bg, mpi.Slice(x), 1, 7)
		require.ErrorIs(t, err, mpi.ErrProcFailed)
		require.ErrorContains(t, err, "failed")
	case 1:
		require.NoError(t, w.Send(bg, mpi.Slice(x), 0, 6))
		_, _ = w.Recv(bg, mpi.Slice(x), 0, 99)
		t.Errorf("rank 1 is still there")
	default:
		_, err := w.Recv(bg, mpi.Slice(x), mpi.AnySource, 99)
		require.ErrorIs(t, err, mpi.ErrProcFailedPending)
		require.NoError(t, w.AckFailed())
		other := 2 + 3 - w.Rank()
		_, err = w.Sendrecv(bg, mpi.Slice([]int{w.Rank()}), other, 8, mpi.Slice(x), mpi.AnySource, 8)
		require.NoError(t, err)
		require.Equal(t, other, x[0])
	}
	require.NoError(t, w.AckFailed())
	c, err := w.Shrink(bg)
	require.NoError(t, err)
	require.Equal(t, 3, c.Size())
	collectives(t, c)
}

// loseOne loses rank 1 while all communicate. The others then wait until mpiexec ends them.
func loseOne(t *checker, p *mpi.Process) {
	_, err := exchangeUntilLost(t, p.World(), p.World().Rank() == 1, 1)
	if !errors.Is(err, mpi.ErrProcFailed) {
		t.Errorf("%v", err)
	}
	wallclock.Forever()
}

// forEver communicates until it is ended.
func forEver(t *checker, p *mpi.Process) {
	w := p.World()
	require.NoError(t, w.Barrier(bg))
	os.Stdout.WriteString("communicates\n")
	for {
		ring(t, w)
	}
}

// abort ends the job in the midst of it.
func abort(t *checker, p *mpi.Process) {
	w := p.World()
	require.NoError(t, w.Barrier(bg))
	if w.Rank() == 1 {
		t.Errorf("Abort returned: %v", p.Abort(33, "rank 1 has had enough"))
	}
	_, err := w.Recv(bg, mpi.Slice([]int{0}), mpi.AnySource, 1)
	t.Errorf("nobody has sent anything: %v", err)
	wallclock.Forever() // so that this process does not end first
}

// fatal makes an error end the job, as is the default in other languages.
func fatal(t *checker, p *mpi.Process) {
	w := p.World()
	require.NoError(t, w.SetErrorHandler(mpi.ErrorsAreFatal))
	if w.Rank() == 1 {
		t.Errorf("Send returned: %v", w.Send(bg, mpi.Slice([]int{1}), w.Size(), 0))
	}
	_, _ = w.Recv(bg, mpi.Slice([]int{0}), mpi.AnySource, 1)
	wallclock.Forever()
}

// neverInit: rank 1 does something else, and the others wait in Init.
func neverInit(t *checker) {
	if os.Getenv(rankVariable) == "1" {
		wallclock.Forever()
	}
	initProcess(context.Background(), t)
}

// notInit: rank 1 ends before Init.
func notInit(t *checker) {
	if os.Getenv(rankVariable) == "1" {
		return
	}
	initProcess(context.Background(), t)
}

// rankVariable is PMI's variable with the rank of a process.
const rankVariable = "PMI_RANK"
