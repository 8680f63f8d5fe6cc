package mem_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/info"
	"github.com/viaduct-hpc/viaduct/mpi/mem"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

var bg = context.Background()

// TestAlloc: memory of every method carries messages of all sizes, and is aligned as the hint wants.
func TestAlloc(t *testing.T) {
	for _, method := range []string{mpitest.Memory, "via+shm", "tcp"} {
		t.Run(method, func(t *testing.T) {
			if method == "via+shm" {
				t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
			}
			mpitest.Run(t, 2, mpitest.Options{Method: method}, func(t *testing.T, p *mpi.Process) {
				w, peer := p.World(), 1-p.World().Rank()
				for _, n := range []int{0, 1, 1000, 200_000} {
					for _, align := range []string{"", "1", "64", "65536", "4194304"} {
						hints := new(info.Info)
						if align != "" {
							require.NoError(t, hints.Set(mem.KeyAlignment, align))
						}
						out, err := mem.Alloc[int64](w, n, hints)
						require.NoError(t, err)
						in, err := mem.Alloc[int64](w, n, hints)
						require.NoError(t, err)
						require.Len(t, out.Slice(), n)
						assert.Equal(t, make([]int64, n), in.Slice())
						if n > 0 && align != "" {
							at := uintptr(unsafe.Pointer(&in.Slice()[0]))
							assert.Zero(t, at%map[string]uintptr{"1": 1, "64": 64, "65536": 65536, "4194304": 4194304}[align], "%s", align)
						}
						for i := range out.Slice() {
							out.Slice()[i] = int64(i*3 + w.Rank())
						}
						_, err = w.Sendrecv(bg, mpi.Slice(out.Slice()), peer, 0, mpi.Slice(in.Slice()), peer, 0)
						require.NoError(t, err)
						for i, x := range in.Slice() {
							require.Equal(t, int64(i*3+peer), x)
						}
						require.NoError(t, out.Free())
						require.NoError(t, in.Free())
						require.ErrorIs(t, in.Free(), mpi.ErrBase)
					}
				}
				alone, err := mem.Alloc[byte](p.Self(), 100, nil)
				require.NoError(t, err)
				require.Len(t, alone.Slice(), 100)
				require.NoError(t, alone.Free())
			})
		})
	}
}

// TestRefused: arguments that are wrong.
func TestRefused(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		_, err := mem.Alloc[int64](w, -1, nil)
		assert.ErrorIs(t, err, mpi.ErrArg)
		_, err = mem.Alloc[string](w, 1, nil)
		assert.ErrorIs(t, err, mpi.ErrType)
		_, err = mem.Alloc[int64](w, 1<<60, nil)
		assert.ErrorIs(t, err, mpi.ErrNoMem)
		_, err = mem.Alloc[int64](nil, 1, nil)
		assert.ErrorIs(t, err, mpi.ErrComm)
		for _, align := range []string{"0", "3", "-8", "x", "2147483648"} {
			hints := new(info.Info)
			require.NoError(t, hints.Set(mem.KeyAlignment, align))
			_, err = mem.Alloc[int64](w, 1, hints)
			assert.ErrorIs(t, err, mpi.ErrInfoValue, "%s", align)
		}
	})
}
