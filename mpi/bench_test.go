package mpi_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// two runs a benchmark on two ranks of this process, which communicate over shared memory and poll
// on a processor each. The profile for building cmd/mpibench is taken from it.
func two(b *testing.B, run func(w *mpi.Comm, n int) error) {
	boots, err := boot.Local(2)
	require.NoError(b, err)
	var ranks sync.WaitGroup
	b.ReportAllocs()
	for rank := range boots {
		ranks.Go(func() {
			p, err := mpi.Init(context.Background(), mpi.Options{Boot: boots[rank], Method: "via+shm"})
			if err != nil {
				b.Error(err)
				return
			}
			if err := p.World().Barrier(bg); err != nil {
				b.Error(err)
			}
			if rank == 0 {
				b.ResetTimer()
			}
			if err := run(p.World(), b.N); err != nil {
				b.Error(err)
			}
			if err := p.Finalize(context.Background()); err != nil {
				b.Error(err)
			}
		})
	}
	ranks.Wait()
}

// BenchmarkPingPong is a round trip of 8 bytes.
func BenchmarkPingPong(b *testing.B) {
	two(b, func(w *mpi.Comm, n int) error {
		buf, other := make([]byte, 8), 1-w.Rank()
		for range n {
			if w.Rank() == 0 {
				if err := w.Send(bg, mpi.Slice(buf), other, 1); err != nil {
					return err
				}
			}
			if _, err := w.Recv(bg, mpi.Slice(buf), other, 1); err != nil {
				return err
			}
			if w.Rank() == 1 {
				if err := w.Send(bg, mpi.Slice(buf), other, 1); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// BenchmarkRate is a message of 8 bytes one way, in windows of 64.
func BenchmarkRate(b *testing.B) {
	const window = 64
	two(b, func(w *mpi.Comm, n int) (err error) {
		buf, other, rs := make([]byte, 8), 1-w.Rank(), make([]mpi.Request, window)
		for range n/window + 1 {
			for i := range rs {
				if w.Rank() == 0 {
					rs[i] = w.Isend(mpi.Slice(buf), other, 1)
				} else {
					rs[i] = w.Irecv(mpi.Slice(buf), other, 1)
				}
			}
			if err = mpi.WaitAll(bg, rs...); err != nil {
				return err
			}
			if w.Rank() == 1 {
				err = w.Send(bg, mpi.Slice(buf[:0]), other, 2)
			} else {
				_, err = w.Recv(bg, mpi.Slice(buf[:0]), other, 2)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func BenchmarkBarrier(b *testing.B) {
	two(b, func(w *mpi.Comm, n int) error {
		for range n {
			if err := w.Barrier(bg); err != nil {
				return err
			}
		}
		return nil
	})
}

// BenchmarkAllreduce is the sum of one number.
func BenchmarkAllreduce(b *testing.B) {
	two(b, func(w *mpi.Comm, n int) error {
		in, out := []float64{1}, []float64{0}
		for range n {
			if err := w.Allreduce(bg, mpi.Slice(in), mpi.Slice(out), mpi.Sum); err != nil {
				return err
			}
		}
		return nil
	})
}
