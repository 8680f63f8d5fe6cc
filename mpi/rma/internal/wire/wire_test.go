package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// runs returns a request for some runs: pairs of offset and length.
func runs(h Head, pairs ...uint64) []byte {
	var l RunList
	for i := 0; i < len(pairs); i += 2 {
		l.Add(pairs[i], uint32(pairs[i+1]))
	}
	return l.Append(nil, h)
}

// column is a column of a matrix of n rows of 1,000 bytes, in runs of 8.
func column(n int) []byte {
	var l RunList
	for i := range uint64(n) {
		l.Add(4096+1000*i, 8)
	}
	return l.Append(nil, Head{Kind: Get})
}

// samples are requests with every field at some limit.
func samples() map[string][]byte {
	head := func(h Head) []byte { return h.Append(nil) }
	return map[string][]byte{
		"put":            append(AppendRun(nil, Head{Kind: Put}, 0x0102030405060708, 3), "abc"...),
		"get":            runs(Head{Kind: Get}, math.MaxUint64, math.MaxUint32, 0, 1),
		"get_column":     column(1000),
		"get_indexed":    runs(Head{Kind: Get}, 80, 8, 16, 8, 40, 4, 44, 4, 48, 4, 40, 4),
		"accumulate":     append(AppendRun(nil, Head{Kind: Accumulate, Op: 12, Elem: 9}, 8, 4), 1, 2, 3, 4),
		"get_accumulate": AppendRun(nil, Head{Kind: GetAccumulate, Op: 13, Elem: 8}, 8, 4),
		"compare":        append(AppendRun(nil, Head{Kind: Compare, Elem: 7}, 8, 1), 1, 2),
		"put_long":       Long{Off: 1, Length: math.MaxUint64, Tag: 2}.Append(head(Head{Kind: PutLong})),
		"get_long":       Long{Off: 1 << 40, Length: 1 << 41, Tag: math.MaxUint32}.Append(head(Head{Kind: GetLong})),
		"lock":           head(Head{Kind: Lock, Op: 1}),
		"unlock":         head(Head{Kind: Unlock}),
		"expose":         append(head(Head{Kind: Expose}), 1, 2, 3, 4, 5, 6, 7, 8),
	}
}

func TestGolden(t *testing.T) {
	var vectors []golden.Vector
	for _, name := range []string{"put", "get", "get_column", "get_indexed", "accumulate", "get_accumulate", "compare", "put_long", "get_long", "lock", "unlock", "expose"} {
		vectors = append(vectors, golden.Vector{Name: name, Comment: "request", Bytes: samples()[name]})
	}
	exposed := Exposed{Off: 0x0102030405060708, Length: 9, Key: [KeyBytes]byte{1, 15: 2}}
	vectors = append(vectors, golden.Vector{Name: "exposed", Comment: "data of an answer", Bytes: exposed.Append(nil)})
	golden.CheckVectors(t, "testdata/requests.golden", vectors)
}

// all returns the runs of a request as pairs.
func all(q *Request) (pairs []uint64) {
	q.Runs(func(off uint64, length uint32) bool {
		pairs = append(pairs, off, uint64(length))
		return true
	})
	return pairs
}

// TestRuns: random lists of runs are read as they were written, and columns take few bytes.
func TestRuns(t *testing.T) {
	require.Len(t, column(1000), HeadBytes+7, "a column is one group")
	rng := rand.New(rand.NewPCG(3, 4))
	var l RunList
	for range 2000 {
		l.Reset()
		var want []uint64
		off := rng.Uint64()
		for range rng.IntN(20) {
			length, stride := uint64(1+rng.IntN(3)), uint64(rng.IntN(8)-4)
			if rng.IntN(20) == 0 {
				length, stride = math.MaxUint32, rng.Uint64()
			}
			for range 1 + rng.IntN(4) {
				want = append(want, off, length)
				off += stride
			}
		}
		for i := 0; i < len(want); i += 2 {
			before := l.Size()
			l.Add(want[i], uint32(want[i+1]))
			require.LessOrEqual(t, l.Size(), before+GroupBytesMax)
		}
		size := l.Size()
		b := l.Append(nil, Head{Kind: Put})
		require.LessOrEqual(t, len(b), HeadBytes+size)
		q, err := ParseRequest(append(b, "data"...))
		require.NoError(t, err)
		require.Equal(t, want, all(&q))
		require.Equal(t, "data", string(q.Data))
	}
}

// TestRunsRefused: groups that no RunList makes.
func TestRunsRefused(t *testing.T) {
	for name, g := range map[string][]byte{
		"no run":                {},
		"a gap without its end": {0x80},
		"no length":             {0},
		"length 0":              {0, 0},
		"length 0, repeated":    {0, 1, 2, 2},
		"too long":              binary.AppendUvarint([]byte{0}, 1<<33),
		"no count":              {0, 3},
		"count 1":               {0, 3, 1, 2},
		"too many":              append(binary.AppendUvarint([]byte{0, 3}, 1<<32), 2),
		"no stride":             {0, 3, 2},
		"a long zero":           {0x80, 0, 2},
		"an endless number":     bytes.Repeat([]byte{0x80}, 20),
	} {
		h := Head{Kind: Get, groups: 1}
		_, err := ParseRequest(append(h.Append(nil), g...))
		require.ErrorIs(t, err, ErrRequest, name)
	}
}

func TestParse(t *testing.T) {
	q, err := ParseRequest(samples()["get"])
	require.NoError(t, err)
	assert.Equal(t, []uint64{math.MaxUint64, math.MaxUint32, 0, 1}, all(&q))
	assert.Empty(t, q.Data)
	q, err = ParseRequest(samples()["put"])
	require.NoError(t, err)
	assert.Equal(t, "abc", string(q.Data))
	q, err = ParseRequest(samples()["put_long"])
	require.NoError(t, err)
	l, err := ParseLong(q.Data)
	require.NoError(t, err)
	assert.Equal(t, Long{Off: 1, Length: math.MaxUint64, Tag: 2}, l)
}

func TestRefused(t *testing.T) {
	for name, b := range samples() {
		q, err := ParseRequest(b)
		require.NoError(t, err, name)
		for n := range HeadBytes + len(q.runs) {
			_, err := ParseRequest(b[:n:n])
			require.ErrorIs(t, err, ErrRequest, "%d bytes of %s", n, name)
		}
	}
	for at, bad := range map[int]byte{0: 0, 3: 1, 6: 1, 7: 1} {
		b := Head{Kind: Lock}.Append(nil)
		b[at] = bad
		_, err := ParseRequest(b)
		require.ErrorIs(t, err, ErrRequest)
	}
	_, err := ParseRequest(Head{Kind: Expose + 1}.Append(nil))
	require.ErrorIs(t, err, ErrRequest)
	for n := range LongBytes + 2 {
		if _, err := ParseLong(make([]byte, n)); n != LongBytes {
			require.ErrorIs(t, err, ErrRequest)
		}
	}
	x := Exposed{Off: math.MaxUint64, Length: 1, Key: [KeyBytes]byte{1, 2, 3}}
	got, err := ParseExposed(x.Append(nil))
	require.NoError(t, err)
	assert.Equal(t, x, got)
	for _, bad := range []Exposed{{}, {Off: math.MaxUint64, Length: 2}, {Off: 2, Length: math.MaxUint64}} {
		_, err := ParseExposed(bad.Append(nil))
		require.ErrorIs(t, err, ErrRequest)
	}
	for n := range exposedBytes {
		_, err := ParseExposed(make([]byte, n))
		require.ErrorIs(t, err, ErrRequest)
	}
	for _, b := range [][]byte{nil, {0}, {byte(NotExposed) + 1}} {
		_, _, err := ParseResult(b)
		require.ErrorIs(t, err, ErrRequest)
	}
	r, data, err := ParseResult([]byte{byte(NoRange), 5})
	require.NoError(t, err)
	assert.Equal(t, NoRange, r)
	assert.Equal(t, []byte{5}, data)
}

// FuzzParseRequest: no bytes make it panic, and what is accepted means the same when it is written
// again.
func FuzzParseRequest(f *testing.F) {
	for _, b := range samples() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := ParseRequest(b)
		if err != nil {
			return
		}
		require.Equal(t, b, append(append(q.Head.Append(nil), q.runs...), q.Data...))
		var l RunList
		var first []uint64
		few := func(list *[]uint64) func(off uint64, length uint32) bool {
			return func(off uint64, length uint32) bool {
				*list = append(*list, off, uint64(length))
				return len(*list) < 1000
			}
		}
		q.Runs(few(&first))
		for i := 0; i < len(first); i += 2 {
			l.Add(first[i], uint32(first[i+1]))
		}
		again, err := ParseRequest(l.Append(nil, Head{Kind: q.Kind, Op: q.Op, Elem: q.Elem}))
		require.NoError(t, err)
		var second []uint64
		again.Runs(few(&second))
		require.Equal(t, first, second)
	})
}
