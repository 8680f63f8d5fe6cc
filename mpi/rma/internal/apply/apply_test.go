package apply_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/apply"
)

// locked counts its locks.
type locked struct {
	sync.Mutex
	n int
}

func (l *locked) Lock() error {
	l.Mutex.Lock()
	l.n++
	return nil
}

// TestAgainstReduce: every operator on every kind, aligned and not, in one run and in several, gives
// what package reduce gives on packed elements.
func TestAgainstReduce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for k := range datatype.KindFloat64Int64 + 1 {
		for o := apply.Sum; o <= apply.NoOp; o++ {
			if apply.Check(o, k) != nil {
				continue
			}
			for off := range 9 {
				check(t, r, o, k, off, 1)
				check(t, r, o, k, off, 3)
			}
		}
	}
}

func check(t *testing.T, r *rand.Rand, o apply.Op, k datatype.Kind, off, gaps int) {
	const n = 4
	size := k.Size()
	mem := words(200)
	for i := range mem {
		mem[i] = byte(r.IntN(256))
	}
	in, old := make([]byte, n*size), make([]byte, n*size)
	for i := range in {
		in[i] = byte(r.IntN(256))
	}
	var runs []apply.Run
	packed := []byte{}
	for i := range n {
		run := apply.Run{Off: off + i*size*gaps, Len: size}
		if gaps == 1 {
			run.Len = n * size
			i = n
		}
		runs = append(runs, run)
		packed = append(packed, mem[run.Off:][:run.Len]...)
		if i == n {
			break
		}
	}
	was, before := bytes.Clone(packed), bytes.Clone(mem)
	reduce.Predefined[o].Apply(packed, in, datatype.ByKind(k), n)
	l := &locked{}
	require.NoError(t, apply.Do(o, k, mem, runs, in, old, l))
	want := before
	at := 0
	for _, run := range runs {
		at += copy(want[run.Off:][:run.Len], packed[at:])
	}
	require.Equal(t, want, mem, "%v of %v at %d, %d runs", reduce.Predefined[o], k, off, len(runs))
	require.Equal(t, was, old, "%v of %v at %d", reduce.Predefined[o], k, off)
	aligned := apply.Atomic(k) && off%size == 0
	require.Equal(t, aligned, l.n == 0, "%v of %v at %d: the lock", reduce.Predefined[o], k, off)
}

// words returns aligned memory.
func words(n int) []byte {
	w := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), n)
}

func TestSwap(t *testing.T) {
	for k := range datatype.KindFloat64Int64 + 1 {
		if apply.CheckSwap(k) != nil {
			continue
		}
		size := k.Size()
		for off := range 8 {
			mem := words(32)
			one, two, old := bytes.Repeat([]byte{1}, size), bytes.Repeat([]byte{2}, size), make([]byte, size)
			require.NoError(t, apply.Swap(k, mem[off:], one, two, old, &locked{}))
			assert.Equal(t, make([]byte, size), old)
			assert.Equal(t, make([]byte, 32), mem, "they differed")
			require.NoError(t, apply.Swap(k, mem[off:], old, two, one, &locked{}))
			assert.Equal(t, two, mem[off:][:size], "%v at %d", k, off)
			assert.Equal(t, make([]byte, size), one)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	mem, in, old := words(8), words(8), words(8)
	l := &locked{}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		one := [1]apply.Run{{Off: 0, Len: 8}}
		for o := apply.Sum; o <= apply.BXor; o++ {
			_ = apply.Do(o, datatype.KindInt64, mem, one[:], in, old, l)
		}
		_ = apply.Swap(datatype.KindInt64, mem, in, in, old, l)
	}))
}

func TestRefused(t *testing.T) {
	assert.ErrorIs(t, apply.Check(apply.Sum, datatype.KindNone), errclass.Type)
	assert.ErrorIs(t, apply.Check(apply.NoOp+1, datatype.KindInt8), errclass.Op)
	assert.ErrorIs(t, apply.Check(apply.BAnd, datatype.KindFloat64), errclass.Op)
	assert.ErrorIs(t, apply.Check(apply.Sum, datatype.Kind(99)), errclass.Type)
	assert.ErrorIs(t, apply.CheckSwap(datatype.KindFloat64), errclass.Type)
	own, err := reduce.New("own", true, func(_, _ []byte, _ *datatype.Type, _ int) {})
	require.NoError(t, err)
	_, err = apply.OpOf(own)
	assert.ErrorIs(t, err, errclass.Op)
	_, err = apply.OpOf(nil)
	assert.ErrorIs(t, err, errclass.Op)
	for i, o := range reduce.Predefined {
		got, err := apply.OpOf(o)
		require.NoError(t, err)
		assert.EqualValues(t, i, got)
	}
}

var errDied = errors.New("died")

type dead struct{}

func (dead) Lock() error { return errDied }
func (dead) Unlock()     {}

// TestALockThatCannotBeHad: nothing is changed.
func TestALockThatCannotBeHad(t *testing.T) {
	mem := words(16)
	in := []byte{1, 1, 1, 1, 1, 1, 1, 1}
	runs := []apply.Run{{Off: 1, Len: 8}}
	assert.ErrorIs(t, apply.Do(apply.Sum, datatype.KindInt64, mem, runs, in, nil, dead{}), errDied)
	assert.ErrorIs(t, apply.Do(apply.Sum, datatype.KindInt8, mem, runs, in, nil, dead{}), errDied)
	assert.ErrorIs(t, apply.Swap(datatype.KindInt8, mem, in[:1], in[:1], in[:1], dead{}), errDied)
	assert.Equal(t, make([]byte, 16), mem)
}

// TestConcurrently: goroutines add to the same elements; no addition is lost.
func TestConcurrently(t *testing.T) {
	const workers, rounds = 4, 500
	for _, k := range []datatype.Kind{datatype.KindInt16, datatype.KindInt32, datatype.KindUint64, datatype.KindFloat64} {
		for off := range 2 {
			mem, l := words(32), &locked{}
			in := make([]byte, k.Size())
			one := []byte{1}
			if k == datatype.KindFloat64 {
				one = []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}
			}
			copy(in, one)
			var all sync.WaitGroup
			for range workers {
				all.Go(func() {
					for range rounds {
						_ = apply.Do(apply.Sum, k, mem, []apply.Run{{Off: off, Len: k.Size()}}, in, nil, l)
					}
				})
			}
			all.Wait()
			want := make([]byte, k.Size())
			for range workers * rounds {
				reduce.Sum.Apply(want, in, datatype.ByKind(k), 1)
			}
			assert.Equal(t, want, mem[off:][:k.Size()], "%v at %d", k, off)
		}
	}
}
