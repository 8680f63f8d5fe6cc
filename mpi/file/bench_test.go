package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/file"
)

// cube is the side of the array of BenchmarkBlocks: 64 MiB of float64.
const cube = 203

// BenchmarkBlocks is a collective write, and a collective read, of a three-dimensional array that
// four ranks of this process have in blocks. "plain" is one write of as many bytes by one goroutine.
func BenchmarkBlocks(b *testing.B) {
	const bytes = cube * cube * cube * 8
	b.Run("plain/write", func(b *testing.B) {
		f, err := os.Create(filepath.Join(memory.Dir(b), "file"))
		require.NoError(b, err)
		defer func() { _ = f.Close() }()
		mem := make([]byte, bytes)
		b.SetBytes(bytes)
		for b.Loop() {
			_, err := f.WriteAt(mem, 0)
			require.NoError(b, err)
		}
	})
	memoryFile := func(b *testing.B) string { return filepath.Join(memory.Dir(b), "file") }
	pvfs := func(b *testing.B) string { return places[1].make(b)("file") }
	for _, s := range []struct {
		name string
		make func(b *testing.B) string
	}{{"posix", memoryFile}, {"pvfs", pvfs}} {
		for _, way := range []string{"enable", "disable"} {
			name := s.make(b)
			b.Run(fmt.Sprintf("%s/cb=%s/write", s.name, way), func(b *testing.B) { blocks(b, name, way, true) })
			b.Run(fmt.Sprintf("%s/cb=%s/read", s.name, way), func(b *testing.B) { blocks(b, name, way, false) })
		}
	}
}

func blocks(b *testing.B, name, way string, write bool) {
	b.SetBytes(cube * cube * cube * 8)
	boots, err := boot.Local(4)
	require.NoError(b, err)
	var all sync.WaitGroup
	for rank := range boots {
		all.Go(func() {
			p, err := mpi.Init(background, mpi.Options{Boot: boots[rank], Method: "via+shm"})
			if err != nil {
				b.Error(err)
				return
			}
			if err := blocksOf(b, p.World(), name, way, write); err != nil {
				b.Error(err)
			}
			if err := p.Finalize(background); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
}

// blocksOf is the part of one rank: a quarter of each plane of the array, in both other dimensions.
func blocksOf(b *testing.B, w *mpi.Comm, name, way string, write bool) error {
	info, err := newInfo("romio_cb_write", way, "romio_cb_read", way)
	if err != nil {
		return err
	}
	f, err := file.Open(background, w, name, file.ModeRdwr|file.ModeCreate, info)
	if err != nil {
		return err
	}
	var part, start [3]int
	part[0] = cube
	for d, half := range []int{w.Rank() / 2, w.Rank() % 2} {
		start[d+1], part[d+1] = half*(cube/2), cube/2+half*(cube%2)
	}
	view, err := datatype.Subarray([]int{cube, cube, cube}, part[:], start[:], datatype.OrderC, datatype.Float64)
	if err != nil {
		return err
	}
	if err := f.SetView(background, 0, datatype.Float64, view, file.Native, nil); err != nil {
		return err
	}
	mem := buf(make([]float64, part[0]*part[1]*part[2]))
	if err := w.Barrier(background); err != nil {
		return err
	}
	if w.Rank() == 0 {
		b.ResetTimer()
	}
	for range b.N {
		if write {
			_, err = f.WriteAtAll(background, 0, mem)
		} else {
			_, err = f.ReadAtAll(background, 0, mem)
		}
		if err != nil {
			return err
		}
	}
	if w.Rank() == 0 {
		b.StopTimer()
	}
	return f.Close(background)
}

// BenchmarkSmall is a write and a read of 8 bytes by one rank.
func BenchmarkSmall(b *testing.B) {
	boots, err := boot.Local(1)
	require.NoError(b, err)
	p, err := mpi.Init(background, mpi.Options{Boot: boots[0], Method: "mem"})
	require.NoError(b, err)
	f, err := file.Open(background, p.World(), filepath.Join(memory.Dir(b), "file"), file.ModeRdwr|file.ModeCreate, nil)
	require.NoError(b, err)
	mem := buf(make([]byte, 8))
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := f.WriteAt(background, 0, mem)
			require.NoError(b, err)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := f.ReadAt(background, 0, mem)
			require.NoError(b, err)
		}
	})
	b.Run("write all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := f.WriteAtAll(background, 0, mem)
			require.NoError(b, err)
		}
	})
	require.NoError(b, f.Close(background))
	require.NoError(b, p.Finalize(background))
}
