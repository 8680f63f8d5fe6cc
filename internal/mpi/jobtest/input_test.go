package jobtest

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// badInput makes errors. Each error has its class and a sentence. After each, the job can continue.
func badInput(t *checker, p *mpi.Process) {
	w, x := p.World(), []int{1, 2, 3}
	next, before := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	wants := func(err error, class mpi.ErrorClass, sentence string) {
		require.ErrorIs(t, err, class)
		require.ErrorContains(t, err, sentence)
	}
	wants(w.Send(bg, mpi.Slice(x), w.Size(), 0), mpi.ErrRank, fmt.Sprintf("rank %d ", w.Size()))
	wants(w.Send(bg, mpi.Slice(x), -7, 0), mpi.ErrRank, "rank -7 ")
	wants(w.Send(bg, mpi.Slice(x), mpi.AnySource, 0), mpi.ErrRank, "")
	wants(w.Send(bg, mpi.Slice(x), next, -5), mpi.ErrTag, "-5")
	wants(w.Send(bg, mpi.Slice(x), next, mpi.TagUB+1), mpi.ErrTag, fmt.Sprint(mpi.TagUB+1))
	_, err := w.Recv(bg, mpi.Slice(x), w.Size()+3, 0)
	wants(err, mpi.ErrRank, fmt.Sprintf("rank %d ", w.Size()+3))
	wants(w.Bcast(bg, mpi.Slice(x), w.Size()), mpi.ErrRoot, fmt.Sprint(w.Size()))
	wants(w.Send(bg, mpi.Slice([]string{"text"}), next, 0), mpi.ErrType, "string")
	wants(w.Allreduce(bg, mpi.Slice([]float64{1}), mpi.Slice([]float64{0}), mpi.BAnd), mpi.ErrOp, "float64")
	wants(w.Allreduce(bg, mpi.Slice([]int{1, 2}), mpi.Slice([]int{0}), mpi.Sum), mpi.ErrCount, "")
	wants((*mpi.Comm)(nil).Send(bg, mpi.Slice(x), next, 0), mpi.ErrComm, "")
	wants(w.Free(), mpi.ErrComm, "MPI_COMM_WORLD")
	dup, err := w.Dup(bg)
	require.NoError(t, err)
	require.NoError(t, dup.Free())
	wants(dup.Free(), mpi.ErrComm, "freed")
	wants(dup.Send(bg, mpi.Slice(x), next, 0), mpi.ErrComm, "freed")

	for _, n := range []int{3, 50_000} { // eager, and announced
		s := w.Isend(mpi.Slice(row(w.Rank(), n)), next, 1)
		short := []int64{0, 0}
		st, err := w.Recv(bg, mpi.Slice(short), before, 1)
		wants(err, mpi.ErrTruncate, fmt.Sprint(8*n))
		require.Equal(t, before, st.Source)
		require.NoError(t, mpi.WaitAll(bg, s))
	}
	require.NoError(t, w.Barrier(bg))
	collectives(t, w)
}

// pending calls Finalize while a receive waits.
func pending(t *checker) {
	p := initProcess(context.Background(), t)
	_, _, err := p.World().Irecv(mpi.Slice([]int{0}), mpi.AnySource, 1).Peek()
	require.NoError(t, err)
	err = p.Finalize(context.Background())
	require.ErrorIs(t, err, mpi.ErrPending)
	require.ErrorContains(t, err, "1 receive")
	require.ErrorIs(t, p.Finalize(context.Background()), mpi.ErrOther)
	require.Error(t, p.World().Send(bg, mpi.Slice([]int{0}), 0, 1))
}

// lateInit: rank 1 does not call Init, and the others wait only as long as their options say.
func lateInit(t *checker) {
	if os.Getenv(rankVariable) == "1" {
		wallclock.Forever() // until the others end the job
	}
	_, err := mpi.Init(context.Background(), mpi.Options{InitTimeMax: 50 * time.Millisecond})
	require.ErrorIs(t, err, mpi.ErrOther)
	t.Errorf("Init says: %v", err)
	os.Exit(faultCode)
}

// cannot asks for a method that does not exist.
func cannot(t *checker) {
	_, err := mpi.Init(context.Background(), mpi.Options{})
	require.ErrorIs(t, err, mpi.ErrOther)
	t.Errorf("Init says: %v", err)
	os.Exit(faultCode)
}

// initByItself is a job of one process without a launcher.
func initByItself(t *checker) {
	inJob(func(t *checker, p *mpi.Process) {
		require.Equal(t, 1, p.World().Size())
		everything(t, p)
	})(t)
}
