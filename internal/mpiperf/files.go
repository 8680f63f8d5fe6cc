package mpiperf

import (
	"fmt"
	"math/bits"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/mpi/topo"
)

// A filing is a test of a file that all ranks write or read at once: a three-dimensional array of
// float64. An iteration ends when all ranks have ended theirs.
type filing struct {
	write      bool
	blocks     bool // each rank has a block of the array, which it sees through a view; otherwise one range of the file
	collective bool
}

// A filer is a rank's part in a filing.
type filer struct {
	*filing
	c   *mpi.Comm
	f   *file.File
	at  int64 // where this rank's numbers begin in the view
	mem []byte
	err error // of fill
}

func (o *filing) open(c *mpi.Comm, s setup) (job, error) {
	f, err := file.Open(forever, c, s.file, file.ModeCreate|file.ModeRdwr|file.ModeDeleteOnClose, nil)
	if err != nil {
		return nil, err
	}
	a := &filer{filing: o, c: c, f: f}
	part := datatype.Float64
	first, next := share(s.size/floatBytes, c.Rank(), c.Size())
	numbers := next - first
	if o.blocks {
		whole, mine, start := blockOf(s.size, c.Rank(), gridOf(c.Size()))
		if part, err = datatype.Subarray(whole[:], mine[:], start[:], datatype.OrderC, datatype.Float64); err != nil {
			return nil, err
		}
		first, numbers = 0, mine[0]*mine[1]*mine[2]
	}
	a.at, a.mem = int64(first), touched(numbers*floatBytes)
	if err := f.SetView(forever, 0, datatype.Float64, part, file.Native, nil); err != nil {
		return nil, err
	}
	// All of the file exists before it is measured.
	if _, err := f.WriteAtAll(forever, a.at, a.buffer()); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *filer) buffer() mpi.Buffer { return mpi.Slice(float64s(a.mem)) }

func (a *filer) ready(int) error { return nil }

func (a *filer) once() error {
	do := a.f.ReadAt
	switch {
	case a.write && a.collective:
		do = a.f.WriteAtAll
	case a.write:
		do = a.f.WriteAt
	case a.collective:
		do = a.f.ReadAtAll
	}
	if _, err := do(forever, a.at, a.buffer()); err != nil {
		return err
	}
	return a.c.Barrier(forever)
}

// close ends the file, which is removed.
func (a *filer) close() error { return a.f.Close(forever) }

// mine is a rank's part of the file.
func (a *filer) mine() block { return block{from: a.c.Rank()} }

func (a *filer) fill(round int) {
	a.mine().fill(a.mem, round)
	if a.write {
		return
	}
	_, a.err = a.f.WriteAt(forever, a.at, a.buffer())
	spoil(a.mem, a.mine(), round)
}

func (a *filer) check(round int) error {
	if a.err == nil && a.write {
		spoil(a.mem, a.mine(), round)
		_, a.err = a.f.ReadAt(forever, a.at, a.buffer())
	}
	if a.err != nil {
		return a.err
	}
	return a.mine().check(a.mem, round)
}

// fileMin to fileMax are the default sizes of files, in bytes.
const (
	fileMin = 64 << 10
	fileMax = 64 << 20
)

// The tests: the array in blocks, together or each rank on its own, and the same bytes with a contiguous
// range for each rank.
var filings = []spec{
	fileTest("write_all", filing{write: true, blocks: true, collective: true}),
	fileTest("read_all", filing{blocks: true, collective: true}),
	fileTest("write_strided", filing{write: true, blocks: true}),
	fileTest("read_strided", filing{blocks: true}),
	fileTest("write_contiguous", filing{write: true}),
	fileTest("read_contiguous", filing{}),
}

func fileTest(test perf.Test, o filing) spec {
	return spec{test: test, kind: files, sizeMin: fileMin, sizeMax: fileMax, blocks: func(int, int) int { return 1 }, open: o.open}
}

// ArrayOf returns how many planes, rows and columns of float64 the array in a file of size bytes
// has. size is a power of two.
func ArrayOf(size int) [3]int {
	n := bits.Len(uint(size/floatBytes)) - 1
	return [3]int{1 << ((n + 2) / 3), 1 << ((n + 1) / 3), 1 << (n / 3)}
}

// gridOf returns how many parts the rows and the columns of an array are divided into. All ranks have
// all planes.
func gridOf(ranks int) [2]int {
	grid, err := topo.DimsCreate(ranks, []int{0, 0})
	if err != nil {
		panic(fmt.Sprintf("mpiperf: %d ranks: %v", ranks, err)) // a communicator has some
	}
	return [2]int(grid)
}

// divisible tells whether every rank of a grid has a part of an array.
func divisible(size int, grid [2]int) bool {
	whole := ArrayOf(size)
	return grid[0] <= whole[1] && grid[1] <= whole[2]
}

// blockOf returns the sides of the array, the sides of a rank's block, and where that starts.
func blockOf(size, rank int, grid [2]int) (whole, mine, start [3]int) {
	whole = ArrayOf(size)
	mine[0] = whole[0]
	for d, at := range [2]int{rank / grid[1], rank % grid[1]} {
		first, next := share(whole[d+1], at, grid[d])
		start[d+1], mine[d+1] = first, next-first
	}
	return whole, mine, start
}
