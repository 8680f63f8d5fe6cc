package mpi_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestPartitioned: rounds of a message whose partitions become ready in any order, with other
// partitions on the other side, and several messages with one tag.
func TestPartitioned(t *testing.T) {
	mpitest.Over(t, []string{"mem", "via+shm", "tcp"}, func(t *testing.T, o mpitest.Options) {
		for _, k := range []struct{ elements, out, in int }{
			{12, 4, 3}, {12, 1, 12}, {0, 1, 1}, {1 << 16, 64, 16}, {1 << 16, 1, 64}, {1 << 16, 1 << 10, 2},
		} {
			t.Run(fmt.Sprintf("%d elements in %d and %d", k.elements, k.out, k.in), func(t *testing.T) {
				mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
					w := p.World()
					me, peer := w.Rank(), 1-w.Rank()
					order := rand.New(rand.NewPCG(1, uint64(me)))
					const messages = 2 // with the same tag
					outs, ins := make([][]float64, messages), make([][]float64, messages)
					sends, recvs := make(mpi.Requests, messages), make(mpi.Requests, messages)
					for i := range messages {
						outs[i], ins[i] = make([]float64, k.elements), make([]float64, k.elements)
						recvs[i] = w.PrecvInit(mpi.Slice(ins[i]), k.in, peer, 3)
						sends[i] = w.PsendInit(mpi.Slice(outs[i]), k.out, peer, 3)
					}
					for round := range 3 {
						require.NoError(t, recvs.StartAll())
						require.NoError(t, sends.StartAll())
						for i := range messages {
							for _, part := range order.Perm(k.out) {
								each := k.elements / k.out
								for at := part * each; at < (part+1)*each; at++ {
									outs[i][at] = float64(1000*me + 100*i + round + at)
								}
								require.NoError(t, sends[i].Pready(part))
							}
						}
						for arrived := false; !arrived; {
							var err error
							arrived, err = recvs[0].Parrived(k.in - 1)
							require.NoError(t, err)
						}
						statuses := make([]mpi.Status, messages)
						require.NoError(t, recvs.WaitAll(bg, statuses))
						require.NoError(t, sends.WaitAll(bg, nil))
						for i := range messages {
							assert.Equal(t, []int{peer, 3, 8 * k.elements}, []int{statuses[i].Source, statuses[i].Tag, statuses[i].Bytes})
							for at, x := range ins[i] {
								require.InDelta(t, float64(1000*peer+100*i+round+at), x, 0)
							}
						}
						arrived, err := recvs[0].Parrived(0)
						require.NoError(t, err)
						assert.True(t, arrived, "of an inactive request")
					}
					for i := range messages {
						require.NoError(t, sends[i].Free())
						require.NoError(t, recvs[i].Free())
					}
				})
			})
		}
	})
}

// TestPartsArriveApart: a partition is there before the others are ready.
func TestPartsArriveApart(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		xs := make([]byte, 4<<20)
		if w.Rank() == 0 {
			s := w.PsendInit(mpi.Slice(xs), 4, 1, 0)
			require.NoError(t, s.Start())
			require.NoError(t, s.Pready(2))
			require.NoError(t, w.Barrier(bg))
			_, done, err := s.Test()
			require.NoError(t, err)
			assert.False(t, done)
			require.NoError(t, s.Pready(0, 1, 3))
			_, err = s.Wait(bg)
			require.NoError(t, err)
			require.NoError(t, s.Free())
			return
		}
		r := w.PrecvInit(mpi.Slice(xs), 4, 0, 0)
		require.NoError(t, r.Start())
		for arrived := false; !arrived; {
			var err error
			arrived, err = r.Parrived(2)
			require.NoError(t, err)
		}
		arrived, err := r.Parrived(1)
		require.NoError(t, err)
		assert.False(t, arrived)
		require.NoError(t, w.Barrier(bg))
		_, err = r.Wait(bg)
		require.NoError(t, err)
		require.NoError(t, r.Free())
	})
}

func TestPartitionedIsRefused(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, s := p.World(), p.Self()
		xs := make([]int32, 12)
		gaps, err := datatype.Vector(2, 1, 2, datatype.Int32)
		require.NoError(t, err)
		for want, r := range map[mpi.ErrorClass]mpi.Request{
			mpi.ErrCount: s.PsendInit(mpi.Slice(xs), 5, 0, 0),
			mpi.ErrRank:  s.PrecvInit(mpi.Slice(xs), 4, mpi.AnySource, 0),
			mpi.ErrTag:   s.PsendInit(mpi.Slice(xs), 4, 0, 1<<25),
			mpi.ErrType:  s.PsendInit(mpi.Typed(xs, 0, 2, gaps), 2, 0, 0),
			mpi.ErrComm:  (*mpi.Comm)(nil).PsendInit(mpi.Slice(xs), 4, 0, 0),
		} {
			require.ErrorIs(t, r.Start(), want)
			require.ErrorIs(t, r.Pready(0), want)
			_, err := r.Parrived(0)
			require.ErrorIs(t, err, want)
		}
		_, err = s.PrecvInit(mpi.Slice(xs), 0, 0, 0).Wait(bg)
		require.ErrorIs(t, err, mpi.ErrCount)
		_, err = s.PrecvInit(mpi.Slice(xs), 1, 0, mpi.AnyTag).Wait(bg)
		require.ErrorIs(t, err, mpi.ErrTag)

		plain := s.Irecv(mpi.Slice(xs), 0, 1, mpi.Persistent)
		require.ErrorIs(t, plain.Pready(0), mpi.ErrRequest)
		require.ErrorIs(t, mpi.Request{}.Pready(0), mpi.ErrRequest)
		require.NoError(t, plain.Free())

		null := s.PsendInit(mpi.Slice(xs), 3, mpi.ProcNull, 0)
		from := s.PrecvInit(mpi.Slice(xs), 3, mpi.ProcNull, 0)
		require.ErrorIs(t, null.Pready(0), mpi.ErrRequest, "it is not active")
		require.NoError(t, mpi.Requests{null, from}.StartAll())
		require.ErrorIs(t, null.Start(), mpi.ErrRequest, "it is active")
		require.ErrorIs(t, null.Pready(3), mpi.ErrArg)
		require.ErrorIs(t, from.Pready(0), mpi.ErrRequest, "it receives")
		_, err = null.Parrived(0)
		require.ErrorIs(t, err, mpi.ErrRequest, "it sends")
		_, err = from.Parrived(3)
		require.ErrorIs(t, err, mpi.ErrArg)
		require.NoError(t, null.Pready(0, 1))
		require.ErrorIs(t, null.Pready(1), mpi.ErrArg, "it is ready already")
		require.NoError(t, null.Pready(2))
		require.NoError(t, mpi.WaitAll(bg, null, from))

		// The two sides do not fit.
		peer := 1 - w.Rank()
		send, recv := w.PsendInit(mpi.Slice(xs), 1, peer, 1), w.PrecvInit(mpi.Slice(xs[:6]), 1, peer, 1)
		require.NoError(t, mpi.Requests{recv, send}.StartAll())
		_, err = recv.Wait(bg)
		require.ErrorIs(t, err, mpi.ErrTruncate)
		require.NoError(t, send.Pready(0))
		_, err = send.Wait(bg)
		require.NoError(t, err, "the message is small and needs no receive")
	})
}

// TestPartitionedFromADead: the receiver of a partitioned message notices that its sender has died.
func TestPartitionedFromADead(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		require.NoError(t, w.Barrier(bg))
		if w.Rank() == 1 {
			s := w.PsendInit(mpi.Slice(make([]byte, 100)), 2, 0, 0)
			require.NoError(t, s.Start())
			require.NoError(t, s.Pready(0))
			mpitest.Kill(p)
			return
		}
		r := w.PrecvInit(mpi.Slice(make([]byte, 100)), 2, 1, 0)
		require.NoError(t, r.Start())
		_, err := r.Wait(bg)
		require.ErrorIs(t, err, mpi.ErrProcFailed)
		mpitest.Kill(p)
	})
}

// TestNumbersOfPsends makes as many requests as there are numbers. No number is used twice at a time.
func TestNumbersOfPsends(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		const most = 1 << 12
		s, x := p.Self(), 1
		sends := make(mpi.Requests, most)
		for i := range sends {
			sends[i] = s.PsendInit(mpi.Value(&x), 1, mpi.ProcNull, 0)
		}
		_, err := s.PsendInit(mpi.Value(&x), 1, mpi.ProcNull, 0).Wait(bg)
		require.ErrorIs(t, err, mpi.ErrRequest)
		// The number of an active request is free when its round has ended, not before.
		require.NoError(t, sends[7].Start())
		require.NoError(t, sends[7].Free())
		_, err = s.PsendInit(mpi.Value(&x), 1, mpi.ProcNull, 0).Wait(bg)
		require.ErrorIs(t, err, mpi.ErrRequest)
		require.NoError(t, sends[7].Pready(0), "the round goes on")
		require.NoError(t, sends[8].Free())
		last := s.PsendInit(mpi.Value(&x), 1, mpi.ProcNull, 0)
		require.NoError(t, last.Start())
		require.NoError(t, last.Pready(0))
		_, err = last.Wait(bg)
		require.NoError(t, err)
	})
}

// TestPartitionedOfAnotherBuild: a sender that divides its message in another way is understood, and a
// plan that makes no sense, or is of another length, is an error of the receiver.
func TestPartitionedOfAnotherBuild(t *testing.T) {
	plan := func(words ...uint64) (b []byte) {
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	bad := [][]byte{
		plan(5, 10, 100),         // of version 2
		plan(5, 10, 100, 3, 0),   // longer
		plan(1<<12, 10, 100, 3),  // the number
		plan(5, 0, 100, 1),       // no partitions
		plan(5, 7, 100, 1),       // not equal ones
		plan(5, 10, 100, 0),      // none in a chunk
		plan(5, 10, 100, 11),     // more than there are
		plan(5, 1<<30, 1<<30, 1), // too many chunks
		plan(5, 10, math.MaxUint64, 3), plan(math.MaxUint64, 10, 100, 3), plan(5, 10, 100, math.MaxUint64),
		plan(5, 10, 110, 3), // other bytes than the receiver's
	}
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		if w.Rank() == 0 {
			require.NoError(t, mpi.SendPlan(w, plan(5, 10, 100, 3), 1, 0))
			for chunk, b := range [][]byte{bytes.Repeat([]byte{1}, 30), bytes.Repeat([]byte{2}, 30), bytes.Repeat([]byte{3}, 30), bytes.Repeat([]byte{4}, 10)} {
				require.NoError(t, mpi.SendChunk(w, b, 1, 5, chunk))
			}
			for i, b := range bad {
				require.NoError(t, mpi.SendPlan(w, b, 1, 1+i))
			}
			require.NoError(t, w.Barrier(bg))
			return
		}
		got := make([]byte, 100)
		r := w.PrecvInit(mpi.Slice(got), 20, 0, 0)
		require.NoError(t, r.Start())
		_, err := r.Wait(bg)
		require.NoError(t, err)
		want := append(bytes.Repeat([]byte{1}, 30), bytes.Repeat([]byte{2}, 30)...)
		want = append(append(want, bytes.Repeat([]byte{3}, 30)...), bytes.Repeat([]byte{4}, 10)...)
		require.Equal(t, want, got)
		require.NoError(t, r.Free())
		for i := range bad {
			r := w.PrecvInit(mpi.Slice(got), 1, 0, 1+i)
			require.NoError(t, r.Start())
			_, err := r.Wait(bg)
			require.Error(t, err, "plan %d", i)
			require.NoError(t, r.Free())
		}
		require.Equal(t, want, got)
		require.NoError(t, w.Barrier(bg))
	})
}
