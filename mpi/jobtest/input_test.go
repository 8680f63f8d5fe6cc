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

// badInput makes errors. Each has its class and a sentence, and none keeps the job from going on.
func badInput(t *checker, p *mpi.Process) {
	w, x := p.World(), []int{1, 2, 3}
	next, before := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	wants := func(err error, class mpi.ErrorClass, sentence string) {
		require.ErrorIs(t, err, class)
		require.ErrorContains(t, err, sentence)
	}
	wants(mpi.Send(w, x, w.Size(), 0), mpi.ErrRank, fmt.Sprintf("rank %d ", w.Size()))
	wants(mpi.Send(w, x, -7, 0), mpi.ErrRank, "rank -7 ")
	wants(mpi.Send(w, x, mpi.AnySource, 0), mpi.ErrRank, "")
	wants(mpi.Send(w, x, next, -5), mpi.ErrTag, "-5")
	wants(mpi.Send(w, x, next, mpi.TagUB+1), mpi.ErrTag, fmt.Sprint(mpi.TagUB+1))
	_, err := mpi.Recv(w, x, w.Size()+3, 0)
	wants(err, mpi.ErrRank, fmt.Sprintf("rank %d ", w.Size()+3))
	wants(mpi.Bcast(w, x, w.Size()), mpi.ErrRoot, fmt.Sprint(w.Size()))
	wants(mpi.Send(w, []string{"text"}, next, 0), mpi.ErrType, "string")
	wants(mpi.Allreduce(w, []float64{1}, []float64{0}, mpi.BAnd), mpi.ErrOp, "float64")
	wants(mpi.Allreduce(w, []int{1, 2}, []int{0}, mpi.Sum), mpi.ErrCount, "")
	wants(mpi.Send(nil, x, next, 0), mpi.ErrComm, "")
	wants(w.Free(), mpi.ErrComm, "MPI_COMM_WORLD")
	dup, err := w.Dup()
	require.NoError(t, err)
	require.NoError(t, dup.Free())
	wants(dup.Free(), mpi.ErrComm, "freed")
	wants(mpi.Send(dup, x, next, 0), mpi.ErrComm, "freed")

	for _, n := range []int{3, 50_000} { // eager, and announced
		s, err := mpi.Isend(w, row(w.Rank(), n), next, 1)
		require.NoError(t, err)
		short := []int64{0, 0}
		st, err := mpi.Recv(w, short, before, 1)
		wants(err, mpi.ErrTruncate, fmt.Sprint(8*n))
		require.Equal(t, before, st.Source)
		require.NoError(t, mpi.WaitAll(s))
	}
	require.NoError(t, mpi.Barrier(w))
	collectives(t, w)
}

// pending calls Finalize while a receive waits.
func pending(t *checker) {
	p := initProcess(context.Background(), t)
	_, err := mpi.Irecv(p.World(), []int{0}, mpi.AnySource, 1)
	require.NoError(t, err)
	err = p.Finalize(context.Background())
	require.ErrorIs(t, err, mpi.ErrPending)
	require.ErrorContains(t, err, "1 receive")
	require.ErrorIs(t, p.Finalize(context.Background()), mpi.ErrOther)
	require.Error(t, mpi.Send(p.World(), []int{0}, 0, 1))
}

// lateInit: rank 1 does not call Init, and the others wait only as long as their options say.
func lateInit(t *checker) {
	if os.Getenv(rankVariable) == "1" {
		wallclock.Forever() // the others end it
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
