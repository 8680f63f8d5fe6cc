package rma

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/share"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/wire"
)

// lockPlace is where the lock of rank 1 is in a region, and atomPlace where its element lock is, as
// docs/internals/protocols/mpi.md describes them.
const (
	lockPlace = 64 + 64*1
	atomPlace = lockPlace + 16
)

// TestOverwrittenWords: another process writes anything into the locks; a call that needs them gets an
// error.
func TestOverwrittenWords(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		ctx := context.Background()
		w, err := Allocate(ctx, p.World(), 64, 1, nil)
		require.NoError(t, err)
		if w.me == 0 {
			words := w.region.Bytes()
			for _, value := range []uint64{1, 1<<32 - 1, 77 << 32, 1<<64 - 1, 3<<32 | 1} {
				binary.NativeEndian.PutUint64(words[lockPlace:], value)
				require.ErrorIs(t, w.Lock(ctx, LockExclusive, 1), errclass.RMASync, "%#x", value)
				require.NoError(t, w.Lock(ctx, LockShared, 0))
				require.NoError(t, w.Unlock(ctx, 0))
			}
			binary.NativeEndian.PutUint64(words[lockPlace:], 0)
			require.NoError(t, w.Lock(ctx, LockExclusive, 1))
			binary.NativeEndian.PutUint64(words[lockPlace:], 99<<32)
			require.ErrorIs(t, w.Unlock(ctx, 1), errclass.RMASync)
			binary.NativeEndian.PutUint64(words[lockPlace:], 0)

			require.NoError(t, w.LockAll(ctx))
			binary.NativeEndian.PutUint32(words[atomPlace:], 99)
			small := int8(1)
			_, err := w.Accumulate(mpi.Value(&small), At(1, 0), mpi.Sum).Wait(ctx)
			require.ErrorIs(t, err, errclass.RMASync)
			require.ErrorIs(t, w.Flush(ctx, 1), errclass.RMASync)
			binary.NativeEndian.PutUint32(words[atomPlace:], 0)
			require.NoError(t, w.UnlockAll(ctx))
		}
		require.NoError(t, w.Free(ctx))
	})
}

// TestTheHolderOfAnElementLockDies: others do not wait for it.
func TestTheHolderOfAnElementLockDies(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		defer mpitest.Kill(p)
		ctx := context.Background()
		w, err := Allocate(ctx, p.World(), 64, 1, nil)
		require.NoError(t, err)
		if w.me == 0 {
			require.True(t, share.NewLocks(w.region.Bytes(), 2, 0).TryAtom(1))
			require.NoError(t, p.World().Barrier(ctx))
			return // and dies
		}
		require.NoError(t, p.World().Barrier(ctx))
		require.NoError(t, w.LockAll(ctx))
		x := datatype.Pair[int32, int32]{Value: 1}
		_, err = w.Accumulate(mpi.Value(&x), At(1, 0), mpi.MaxLoc).Wait(ctx)
		require.ErrorIs(t, err, errclass.ProcFailed)
	})
}

// TestACallToMappedMemory: processes that map a window do not call its servers; one that does is
// dropped, because the server would wait for locks in the region.
func TestACallToMappedMemory(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		defer mpitest.Kill(p)
		ctx := context.Background()
		w, err := Allocate(ctx, p.World(), 64, 1, nil)
		require.NoError(t, err)
		if w.me == 1 {
			_, err := w.scope.Recv(core.Buffer{}, 0, 99)
			require.ErrorIs(t, err, errclass.ProcFailed)
			return
		}
		r, err := w.scope.Call(1, false, 0, &lockCall{kind: wire.Unlock})
		require.NoError(t, err)
		_, err = r.Wait(ctx)
		require.ErrorIs(t, err, errclass.ProcFailed)
	})
}
