package rma_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest" // mem
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

var bg = context.Background()

// A place is how a job's ranks reach each other, and how its windows are made.
type place struct {
	name, method string
	hosts        int // number of hosts that the ranks pretend to be on; 0: one
}

// reaching is a place where windows have memory of the program's, which ranks reach by RDMA.
var reaching = place{"via+shm/memory of the program", "via+shm", 0}

// atPlace is where ranks run.
var atPlace place

// places are ranks that share memory, and ranks that do not, over each method.
var places = []place{
	{"mem/one host", "mem", 0}, {"mem/hosts", "mem", 64}, {"mem/two hosts", "mem", 2},
	{"via+shm/one host", "via+shm", 0}, reaching, {"tcp/hosts", "tcp", 64}, {"tcp/two hosts", "tcp", 2},
}

// farther is a place where a death takes seconds to notice.
var farther = place{"via+udp/hosts", "via+udp", 64}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// over runs fn on n ranks in each place.
func over(t *testing.T, n int, fn func(t *testing.T, p *mpi.Process)) {
	t.Helper()
	for _, at := range places {
		t.Run("over="+at.name, func(t *testing.T) { at.run(t, n, fn) })
	}
}

func (at place) run(t *testing.T, n int, fn func(t *testing.T, p *mpi.Process)) {
	t.Helper()
	atPlace = at
	mpitest.Run(t, n, at.options(), fn)
}

// allocate makes a window as the place wants it.
func allocate(c *mpi.Comm, bytes, unit int) (*rma.Win, error) {
	if atPlace == reaching {
		return rma.Create(bg, c, mpi.Slice(make([]byte, bytes)), unit, nil)
	}
	return rma.Allocate(bg, c, bytes, unit, nil)
}

func (at place) options() mpitest.Options {
	o := mpitest.Options{Method: at.method}
	if at.hosts > 0 {
		o.Each = func(rank int, o *mpi.Options) { o.Host = string(rune('a' + rank%at.hosts)) }
	}
	return o
}

// allocated returns an allocated window of n numbers in each rank, and this rank's.
func allocated(t *testing.T, c *mpi.Comm, n int) (*rma.Win, []int64) {
	t.Helper()
	w, err := allocate(c, 8*n, 8)
	require.NoError(t, err)
	return w, numbers(w.Memory())
}

// TestPutGet: every rank puts a number into all others, and gets them back.
func TestPutGet(t *testing.T) {
	const n = 4
	over(t, n, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		w, mine := allocated(t, c, n)
		require.NoError(t, w.Fence(bg))
		me := int64(c.Rank())
		x := 100 + me
		for rank := range n {
			w.Put(mpi.Value(&x), rma.At(rank, c.Rank()))
		}
		require.NoError(t, w.Fence(bg))
		for rank := range n {
			assert.EqualValues(t, 100+rank, mine[rank])
		}
		all := make([]int64, n*n)
		for rank := range n {
			w.Get(mpi.Slice(all[rank*n:][:n]), rma.At(rank, 0))
		}
		require.NoError(t, w.Fence(bg, rma.NoSucceed))
		for i := range all {
			assert.EqualValues(t, 100+i%n, all[i])
		}
		require.NoError(t, w.Free(bg))
	})
}

// numbers returns memory as numbers.
func numbers(mem []byte) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/8)
}

func address(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }
