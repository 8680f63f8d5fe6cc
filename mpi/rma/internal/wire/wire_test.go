package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// samples are requests with every field at some limit.
func samples() map[string][]byte {
	head := func(h Head) []byte { return h.Append(nil) }
	return map[string][]byte{
		"put":            append(AppendRun(head(Head{Kind: Put, Runs: 1}), 0x0102030405060708, 3), "abc"...),
		"get":            AppendRun(AppendRun(head(Head{Kind: Get, Runs: 2}), math.MaxUint64, math.MaxUint32), 0, 1),
		"accumulate":     append(AppendRun(head(Head{Kind: Accumulate, Op: 12, Elem: 9, Runs: 1}), 8, 4), 1, 2, 3, 4),
		"get_accumulate": AppendRun(head(Head{Kind: GetAccumulate, Op: 13, Elem: 8, Runs: 1}), 8, 4),
		"compare":        append(AppendRun(head(Head{Kind: Compare, Elem: 7, Runs: 1}), 8, 1), 1, 2),
		"put_long":       Long{Off: 1, Length: math.MaxUint64, Tag: 2}.Append(head(Head{Kind: PutLong})),
		"get_long":       Long{Off: 1 << 40, Length: 1 << 41, Tag: math.MaxUint32}.Append(head(Head{Kind: GetLong})),
		"lock":           head(Head{Kind: Lock, Op: 1}),
		"unlock":         head(Head{Kind: Unlock}),
	}
}

func TestGolden(t *testing.T) {
	var vectors []golden.Vector
	for _, name := range []string{"put", "get", "accumulate", "get_accumulate", "compare", "put_long", "get_long", "lock", "unlock"} {
		vectors = append(vectors, golden.Vector{Name: name, Comment: "request", Bytes: samples()[name]})
	}
	golden.CheckVectors(t, "testdata/requests.golden", vectors)
}

func TestParse(t *testing.T) {
	q, err := ParseRequest(samples()["get"])
	require.NoError(t, err)
	off, length := q.Run(0)
	assert.Equal(t, uint64(math.MaxUint64), off)
	assert.Equal(t, uint32(math.MaxUint32), length)
	off, length = q.Run(1)
	assert.Zero(t, off)
	assert.EqualValues(t, 1, length)
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
		for n := range HeadBytes + int(q.Runs)*RunBytes {
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
	_, err := ParseRequest(Head{Kind: Unlock + 1}.Append(nil))
	require.ErrorIs(t, err, ErrRequest)
	for n := range LongBytes + 2 {
		if _, err := ParseLong(make([]byte, n)); n != LongBytes {
			require.ErrorIs(t, err, ErrRequest)
		}
	}
	for _, b := range [][]byte{nil, {0}, {byte(NotFinished) + 1}} {
		_, _, err := ParseResult(b)
		require.ErrorIs(t, err, ErrRequest)
	}
	r, data, err := ParseResult([]byte{byte(NoRange), 5})
	require.NoError(t, err)
	assert.Equal(t, NoRange, r)
	assert.Equal(t, []byte{5}, data)
}

// FuzzParseRequest: no bytes make it panic, and a request that is accepted has all its runs.
func FuzzParseRequest(f *testing.F) {
	for _, b := range samples() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := ParseRequest(b)
		if err != nil {
			return
		}
		again := q.Head.Append(nil)
		for i := range int(q.Runs) {
			off, length := q.Run(i)
			again = AppendRun(again, off, length)
		}
		require.Equal(t, b, append(again, q.Data...))
	})
}
