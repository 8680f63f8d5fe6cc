package ranges

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// random is a list of ascending runs below 4096, and its bytes.
func random(r *rand.Rand) (l List, set map[int64]bool) {
	set = make(map[int64]bool)
	at := int64(0)
	for range r.IntN(8) {
		at += r.Int64N(40)
		run := Run{Off: at, Len: 1 + r.Int64N(9), Count: 1}
		if r.IntN(2) == 0 {
			run.Count, run.Stride = 2+r.Int64N(5), run.Len+r.Int64N(4)
		}
		l.Add(run)
		for i := range run.Count {
			for k := range run.Len {
				set[run.Off+i*run.Stride+k] = true
			}
		}
		at = run.End()
	}
	return l, set
}

func bytes(l List) (offs []int64) {
	for off, length := range l.All() {
		for i := range length {
			offs = append(offs, off+i)
		}
	}
	return offs
}

// TestAdd: however runs are joined, the bytes are the same, in the same order.
func TestAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		l, set := random(r)
		offs := bytes(l)
		require.Len(t, offs, len(set))
		require.EqualValues(t, len(set), l.Bytes())
		for i, off := range offs {
			require.True(t, set[off])
			require.Equal(t, off, l.At(int64(i)))
			require.True(t, i == 0 || offs[i-1] < off)
		}
		n := int64(0)
		for range l.All() {
			n++
		}
		require.Equal(t, n, l.Count())
		low, high := l.Hull()
		require.Equal(t, high, l.At(l.Bytes()))
		if len(offs) > 0 {
			require.Equal(t, []int64{offs[0], offs[len(offs)-1] + 1}, []int64{low, high})
		}

		got, err := Parse(l.Append(nil), low, high)
		require.NoError(t, err)
		require.Equal(t, l, got)
	}
}

// TestJoined: what is a pattern becomes one run.
func TestJoined(t *testing.T) {
	var l List
	for i := range int64(1000) {
		l.Add(One(100*i, 8))
	}
	l.Add(Run{Off: 100_000, Len: 8, Stride: 100, Count: 5})
	l.Add(Run{})
	assert.Equal(t, List{{Off: 0, Len: 8, Stride: 100, Count: 1005}}, l)
	l.Add(One(100_408, 2))
	l.Add(Run{Off: 100_410, Len: 4, Stride: 4, Count: 10})
	assert.Equal(t, List{{Off: 0, Len: 8, Stride: 100, Count: 1005}, One(100_408, 42)}, l)
}

func TestUnion(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		all := make(map[int64]bool)
		var lists []List
		for range r.IntN(5) {
			l, set := random(r)
			lists = append(lists, l)
			for off := range set {
				all[off] = true
			}
		}
		offs := bytes(Union(lists))
		require.Len(t, offs, len(all))
		for i, off := range offs {
			require.True(t, all[off])
			require.True(t, i == 0 || offs[i-1] < off)
		}
	}
}

// TestGoldenList: the form of a list in messages.
func TestGoldenList(t *testing.T) {
	l := List{One(3, 200), {Off: 300, Len: 8, Stride: 24, Count: 7}}
	assert.Equal(t, []byte{6, 0xc8, 1, 1, 0xc2, 1, 8, 7, 24}, l.Append(nil))
}

// TestDamaged: lists that no rank sends.
func TestDamaged(t *testing.T) {
	for _, l := range []List{
		{{Off: 10, Len: 0, Count: 1}},
		{{Off: 10, Len: 1, Count: 0}},
		{{Off: 10, Len: 4, Stride: 4, Count: 2}},
		{{Off: 10, Len: 4, Stride: math.MaxInt64 / 2, Count: 4}},
		{{Off: 10, Len: math.MaxInt64, Count: 1}},
		{One(10, 5), One(12, 5)},
		{One(2, 5)},
		{One(95, 6)},
		{{Off: -5, Len: 1, Count: 1}},
	} {
		_, err := Parse(l.Append(nil), 5, 100)
		assert.ErrorIs(t, err, errclass.Intern, "%v", l)
	}
	whole := List{{Off: 10, Len: 4, Stride: 6, Count: 2}}.Append(nil)
	for n := 1; n < len(whole); n++ {
		_, err := Parse(whole[:n], 0, 100)
		assert.Error(t, err, "%d bytes", n)
	}
}

// FuzzParse: a list that is accepted ascends and lies in its window.
func FuzzParse(f *testing.F) {
	f.Add(List{One(3, 200), {Off: 300, Len: 8, Stride: 24, Count: 7}}.Append(nil), int64(0), int64(1000))
	f.Add([]byte{}, int64(0), int64(0))
	f.Fuzz(func(t *testing.T, b []byte, low, high int64) {
		l, err := Parse(b, max(low, 0), high)
		if err != nil {
			return
		}
		end := max(low, 0)
		for _, r := range l {
			require.True(t, r.valid())
			require.GreaterOrEqual(t, r.Off, end)
			end = r.End()
		}
		require.True(t, len(l) == 0 || end <= high)
	})
}
