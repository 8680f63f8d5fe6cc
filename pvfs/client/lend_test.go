package client_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// TestReadMemory reads into memory that servers copy file data to. It gets none from a method without such memory.
func TestReadMemory(t *testing.T) {
	for _, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			_, mounts := mounted(t, pvfstest.Options{Method: method, Servers: 2}, 2)
			data := pattern(rand.New(rand.NewPCG(3, 3)), 5<<20+123)
			out, err := mounts[0].Create(context.Background(), "/f")
			require.NoError(t, err)
			_, err = out.Write(data)
			require.NoError(t, err)
			require.NoError(t, out.Close())
			open, err := mounts[1].Open("f")
			require.NoError(t, err)
			f := open.(*client.File)
			mem := f.ReadMemory(4 << 20)
			if method == pvfstest.TCP {
				require.True(t, mem == nil, "what is it for?")
				require.NoError(t, f.Close())
				return
			}
			require.Len(t, mem, 4<<20)
			other := f.ReadMemory(4 << 20)
			require.Len(t, other, 4<<20)
			require.NotSame(t, &mem[0], &other[0])
			for _, off := range []int64{0, 1, 1<<20 - 7, 3 << 20} {
				clear(mem)
				n, err := f.ReadAt(mem, off)
				want := data[off:min(off+4<<20, int64(len(data)))]
				require.Equal(t, len(want), n, "%v", err)
				require.True(t, bytes.Equal(want, mem[:n]), "at %d", off)
			}
			f.ReturnMemory(mem)
			require.Same(t, &mem[0], &f.ReadMemory(4 << 20)[0], "it is not kept")
			require.Len(t, f.ReadMemory(1<<20), 1<<20, "another size")
			require.NoError(t, f.Close())
			require.NoError(t, mounts[1].Close())
			require.True(t, f.ReadMemory(4<<20) == nil, "of a file system that is closed")
			f.ReturnMemory(other)
		})
	}
}
