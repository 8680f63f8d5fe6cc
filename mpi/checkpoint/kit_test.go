package checkpoint_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/filetest"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// places are the kinds of storage: each returns the name of a directory that does not exist.
var places = []struct {
	name string
	make func(t testing.TB) string
}{
	{"posix", func(t testing.TB) string { return filepath.Join(t.TempDir(), "store") }},
	{"pvfs", func(t testing.TB) string {
		return "pvfs:" + pvfstest.Start(t, pvfstest.Options{Servers: 3}).Source() + "/store"
	}},
	{"memory", func(t testing.TB) string { return filetest.New(t).Name() }},
}

// ranks runs fn on n ranks.
func ranks(t *testing.T, n int, fn func(t *testing.T, w *mpi.Comm)) {
	t.Helper()
	mpitest.Run(t, n, mpitest.Options{}, func(t *testing.T, p *mpi.Process) { fn(t, p.World()) })
}

// with opens a store, calls fn, and closes it.
func with(t *testing.T, w *mpi.Comm, dir string, o checkpoint.Options, fn func(s *checkpoint.Store)) {
	t.Helper()
	s, err := checkpoint.Open(bg, w, dir, o)
	require.NoError(t, err)
	fn(s)
	require.NoError(t, s.Close(bg))
}

// An array is a whole array that is divided among ranks.
type array interface {
	// part returns the part of a rank as a division has it, with its contents if full is set, and a
	// function that compares its memory.
	part(t *testing.T, d division, rank int, full bool) (checkpoint.Item, func())
	dims() []int
}

type arrayOf[T any] struct {
	name  string
	shape []int
	all   []T
}

func newArray[T any](name string, shape []int, value func(i int) T) *arrayOf[T] {
	n := 1
	for _, d := range shape {
		n *= d
	}
	a := &arrayOf[T]{name: name, shape: shape, all: make([]T, n)}
	for i := range a.all {
		a.all[i] = value(i)
	}
	return a
}

// A division divides arrays among ranks.
type division struct {
	n    int // ranks
	seed uint64
	// overlap: parts have some elements several times and leave out others.
	overlap bool
	// sparse: memory has gaps.
	sparse bool
}

// slab is a block of a division: slabs along one dimension, of any thickness. With overlap, they grow.
func (d division) slab(shape []int, rank int) (start, count []int) {
	r := rand.New(rand.NewPCG(d.seed, 7))
	along := r.IntN(len(shape))
	cuts := []int{0, shape[along]}
	for range d.n - 1 {
		cuts = append(cuts, r.IntN(shape[along]+1))
	}
	slices.Sort(cuts)
	from, end := cuts[rank], cuts[rank+1]
	if d.overlap {
		from, end = max(0, from-1), max(0, end-1+r.IntN(2))
		end = max(from, end)
	}
	start, count = make([]int, len(shape)), slices.Clone(shape)
	start[along], count[along] = from, end-from
	return start, count
}

// dealt is a filetype of a division: blocks that are dealt to a grid of ranks.
func (d division) dealt(t *testing.T, shape []int, rank int, elem *datatype.Type) *datatype.Type {
	r := rand.New(rand.NewPCG(d.seed, 8))
	sizes, left := make([]int, len(shape)), d.n
	how, args := make([]datatype.Distribution, len(shape)), make([]int, len(shape))
	for i := range sizes {
		sizes[i] = 1
		for f := left; f > 1; f-- {
			if left%f == 0 && (i == len(sizes)-1 || r.IntN(2) == 0) {
				sizes[i] = f
				break
			}
		}
		left /= sizes[i]
		how[i], args[i] = datatype.DistributeCyclic, 1+r.IntN(3)
	}
	ft, err := datatype.Darray(d.n, rank, shape, how, args, sizes, datatype.OrderC, elem)
	require.NoError(t, err)
	return ft
}

func (a *arrayOf[T]) dims() []int { return a.shape }

func (a *arrayOf[T]) part(t *testing.T, d division, rank int, full bool) (checkpoint.Item, func()) {
	elem, err := datatype.Of[T]()
	require.NoError(t, err)
	size := elem.Size()
	packed, err := datatype.Contiguous(size, datatype.Byte) // without the gaps of structures
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(d.seed, 9))
	var where *datatype.Type // nil: a block
	var start, count []int
	indices := []int{}
	if d.overlap || slices.Contains(a.shape, 0) || r.IntN(2) == 0 {
		start, count = d.slab(a.shape, rank)
		if !slices.Contains(count, 0) {
			sub, err := datatype.Subarray(a.shape, count, start, datatype.OrderC, packed)
			require.NoError(t, err)
			indices = indicesOf(sub, size)
		}
	} else {
		where = d.dealt(t, a.shape, rank, packed)
		indices = indicesOf(where, size)
	}
	step := 1
	if d.sparse {
		step = 2
	}
	mem := make([]T, step*len(indices))
	if full {
		for i, at := range indices {
			mem[step*i] = a.all[at]
		}
	}
	b := mpi.Slice(mem)
	if d.sparse {
		gaps, err := datatype.Vector(len(indices), 1, step, elem)
		require.NoError(t, err)
		b = mpi.Typed(mem, 0, 1, gaps)
	}
	item := checkpoint.Part(a.name, b, a.shape, where)
	if where == nil {
		item = checkpoint.Block(a.name, b, a.shape, start, count)
	}
	return item, func() {
		t.Helper()
		want, got := make([]T, len(indices)), make([]T, len(indices))
		for i, at := range indices {
			want[i], got[i] = a.all[at], mem[step*i]
		}
		assert.Equal(t, want, got, "%s on rank %d of %d, division %d", a.name, rank, d.n, d.seed)
	}
}

// indicesOf returns the elements that a filetype selects.
func indicesOf(ft *datatype.Type, size int) (list []int) {
	for r := range ft.Runs(0, ft.Size()) {
		for i := range r.Count {
			for at := 0; at < r.Len; at += size {
				list = append(list, (r.Off+i*r.Stride+at)/size)
			}
		}
	}
	return list
}

// items returns a rank's parts of arrays, and a function that compares all.
func items(t *testing.T, arrays []array, d division, rank int, full bool) (list []checkpoint.Item, check func()) {
	var checks []func()
	for i, a := range arrays {
		d.seed = d.seed*31 + uint64(i)
		item, check := a.part(t, d, rank, full)
		list, checks = append(list, item), append(checks, check)
	}
	return list, func() {
		for _, c := range checks {
			c()
		}
	}
}

// reseal gives a manifest whose bytes were changed its checksum.
func reseal(b []byte) {
	end := len(b) - 4
	binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], crc32.MakeTable(crc32.Castagnoli)))
}
