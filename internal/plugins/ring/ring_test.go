package ring

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// room is memory for a ring, at a multiple of Line.
func room(data int) []byte {
	b := make([]byte, Bytes(data)+Line)
	skip := Line - int(uintptr(unsafe.Pointer(&b[0]))%Line)
	return b[skip : skip+Bytes(data)]
}

func pair(t testing.TB, data int) (*Writer, *Reader, []byte) {
	mem := room(data)
	w, err := NewWriter(mem)
	require.NoError(t, err)
	r, err := NewReader(mem)
	require.NoError(t, err)
	return w, r, mem
}

func write(t testing.TB, w *Writer, record []byte) bool {
	room, ok, err := w.Reserve(len(record))
	require.NoError(t, err)
	if ok {
		copy(room, record)
		w.Commit()
	}
	return ok
}

func TestMemory(t *testing.T) {
	for name, mem := range map[string][]byte{
		"nothing": nil, "header": room(0), "small": room(DataMin / 2), "no power of two": room(3 * DataMin), "not aligned": room(2 * DataMin)[8 : Bytes(DataMin)+8],
	} {
		_, err := NewWriter(mem)
		assert.Error(t, err, name)
		_, err = NewReader(mem)
		assert.Error(t, err, name)
	}
}

// TestModel compares a ring with a list, for every pattern of writing and reading.
func TestModel(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w, r, _ := pair(t, DataMin)
		var list [][]byte
		refused := 0
		for range 5000 {
			if rng.IntN(2) == 0 {
				record := make([]byte, 1+rng.IntN([]int{8, 200, w.RecordMax()}[rng.IntN(3)]))
				for i := range record {
					record[i] = byte(rng.Uint32())
				}
				if write(t, w, record) {
					list = append(list, record)
				} else {
					refused++
					require.NotEmpty(t, list, "seed %d: an empty ring has room", seed)
				}
				continue
			}
			got, ok, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, len(list) > 0, ok, "seed %d", seed)
			if ok {
				require.Equal(t, list[0], append([]byte{}, got...), "seed %d", seed)
				list = list[1:]
			}
		}
		require.NotZero(t, refused, "the ring was full now and then")
	}
}

// TestEveryLength: the longest record fits at every position, once all is read.
func TestEveryLength(t *testing.T) {
	w, r, _ := pair(t, DataMin)
	for n := range w.RecordMax() {
		for _, size := range []int{n + 1, w.RecordMax()} {
			require.True(t, write(t, w, make([]byte, size)), size)
			got, ok, err := r.Next()
			require.NoError(t, err)
			require.True(t, ok)
			require.Len(t, got, size)
			_, ok, err = r.Next()
			require.NoError(t, err)
			require.False(t, ok)
		}
	}
	for _, n := range []int{-1, 0, w.RecordMax() + 1} {
		assert.Panics(t, func() { _, _, _ = w.Reserve(n) }, n)
	}
	assert.Panics(t, func() { w.Commit() })
}

// TestOldData: data from earlier rounds is not taken for a word, even if it was made to look like
// one.
func TestOldData(t *testing.T) {
	w, r, mem := pair(t, DataMin)
	data := mem[HeaderBytes:]
	for i := uint64(0); i < DataMin; i += Line { // as if written for the first round, and the second
		binary.LittleEndian.PutUint64(data[i:], place(i+DataMin)|16)
	}
	binary.LittleEndian.PutUint64(data, 0)
	for i := range 3 * DataMin / Line {
		require.True(t, write(t, w, []byte{byte(i)}))
		got, ok, err := r.Next()
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, []byte{byte(i)}, append([]byte{}, got...))
		_, ok, err = r.Next()
		require.NoError(t, err)
		require.False(t, ok, i)
	}
}

// TestLayout: the bytes that the other process sees.
func TestLayout(t *testing.T) {
	w, r, mem := pair(t, DataMin)
	require.True(t, write(t, w, []byte("first")))
	require.True(t, write(t, w, make([]byte, Line)))
	word := func(i int) string { return hex.EncodeToString(mem[HeaderBytes+i : HeaderBytes+i+WordBytes]) }
	assert.Equal(t, "0500000001000000", word(0))
	assert.Equal(t, "first", string(mem[HeaderBytes+WordBytes:][:5]))
	assert.Equal(t, "4000000002000000", word(Line))
	assert.Equal(t, "0000000000000000", word(3*Line))
	for _, want := range []bool{true, true, false} {
		_, ok, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, want, ok)
	}
	assert.Equal(t, "c000000000000000", hex.EncodeToString(mem[:8]), "the reader says how far it is")
	require.True(t, r.Arm())
	assert.Equal(t, "01000000", hex.EncodeToString(mem[8:12]), "and that it sleeps")
	assert.Zero(t, w.Unread())

	assert.True(t, w.Asleep())
	assert.False(t, w.Asleep(), "one wakes it")

	w, r, mem = pair(t, DataMin)
	for range 3 {
		require.True(t, write(t, w, make([]byte, w.RecordMax())))
		_, ok, err := r.Next()
		require.NoError(t, err)
		require.True(t, ok)
	}
	_, _, err := r.Next()
	require.NoError(t, err)
	require.True(t, write(t, w, make([]byte, w.RecordMax()-Line)))
	require.True(t, write(t, w, make([]byte, Line)), "behind it is too little room for this one")
	assert.Equal(t, "ffffffff40000000", hex.EncodeToString(mem[len(mem)-Line:][:WordBytes]))
	assert.Equal(t, "4000000041000000", word(0))
}

func TestSleep(t *testing.T) {
	w, r, _ := pair(t, DataMin)
	require.False(t, w.Asleep())
	require.True(t, r.Arm())
	require.True(t, write(t, w, []byte{1}))
	require.True(t, w.Asleep())
	require.False(t, r.Arm(), "there is a record")
	require.False(t, w.Asleep())
	_, ok, err := r.Next()
	require.NoError(t, err)
	require.True(t, ok)
	require.True(t, r.Arm(), "the record that was taken does not count")
	r.Disarm()
	require.False(t, w.Asleep())
}

// TestThePlaceComesAroundAgain: line numbers wrap at 32 bits, and 0 is valid.
func TestThePlaceComesAroundAgain(t *testing.T) {
	w, r, mem := pair(t, DataMin)
	w.at = Line << 32
	w.at -= 3 * Line
	w.read, r.at, r.published = w.at, w.at, w.at
	publish(w.memory.read, w.at)
	for i := range byte(6) {
		require.True(t, write(t, w, []byte{i + 1}))
		got, ok, err := r.Next()
		require.NoError(t, err)
		require.True(t, ok, "record %d", i)
		require.Equal(t, []byte{i + 1}, append([]byte{}, got...))
		_, ok, err = r.Next()
		require.NoError(t, err)
		require.False(t, ok)
	}
	assert.Equal(t, "0100000000000000", hex.EncodeToString(mem[len(mem)-Line:][:WordBytes]), "the line before the one where the count begins again")
}

// TestAnEmptyRecord: an empty record is refused, because its word could be 0.
func TestAnEmptyRecord(t *testing.T) {
	_, r, mem := pair(t, DataMin)
	binary.LittleEndian.PutUint64(mem[HeaderBytes:], place(0))
	_, _, err := r.Next()
	require.ErrorIs(t, err, ErrCorrupt)
}

// TestConcurrent has both sides run at once.
func TestConcurrent(t *testing.T) {
	const records = 200_000
	w, r, _ := pair(t, DataMin)
	go func() {
		for i := uint64(0); i < records; {
			n := 8 + int(i%97)
			room, ok, err := w.Reserve(n)
			if err != nil {
				t.Error(err)
				return
			}
			if !ok {
				runtime.Gosched()
				continue
			}
			binary.LittleEndian.PutUint64(room, i)
			w.Commit()
			i++
		}
	}()
	for i := uint64(0); i < records; {
		got, ok, err := r.Next()
		require.NoError(t, err)
		if !ok {
			runtime.Gosched()
			continue
		}
		require.Len(t, got, 8+int(i%97))
		require.Equal(t, i, binary.LittleEndian.Uint64(got))
		i++
	}
}

// TestHostileReader: a reader that writes an impossible position makes the ring unusable, and has
// no other effect.
func TestHostileReader(t *testing.T) {
	for _, lie := range []uint64{Line, 7, 1 << 63, DataMin, ^uint64(0)} {
		w, _, mem := pair(t, DataMin)
		*w.memory.read = lie
		var err error
		for ok := true; ok && err == nil; {
			if _, ok, err = w.Reserve(100); ok {
				w.Commit()
			}
		}
		if lie == Line || lie == DataMin {
			continue // the position was valid by then
		}
		require.ErrorIs(t, err, ErrCorrupt, "%#x", lie)
		publish((*uint64)(unsafe.Pointer(&mem[0])), 0)
		_, _, err = w.Reserve(1)
		require.ErrorIs(t, err, ErrCorrupt, "it stays so")
	}
}

// FuzzReader: with any contents of the memory, the reader returns records inside it or ErrCorrupt,
// and ends.
func FuzzReader(f *testing.F) {
	w, _, mem := pair(f, DataMin)
	for i := range 40 {
		write(f, w, make([]byte, 3*i+1))
	}
	f.Add(mem[HeaderBytes:][:512], uint64(0))
	f.Add([]byte{255, 255, 255, 255, 1, 0, 0, 0}, uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, at uint64) {
		mem := room(DataMin)
		copy(mem[HeaderBytes:], data)
		r, err := NewReader(mem)
		require.NoError(t, err)
		r.at = at &^ (Line - 1)
		for range DataMin/Line + 2 {
			record, ok, err := r.Next()
			if err != nil {
				require.ErrorIs(t, err, ErrCorrupt)
				_, _, again := r.Next()
				require.ErrorIs(t, again, ErrCorrupt)
				return
			}
			if !ok {
				return
			}
			require.LessOrEqual(t, len(record), RecordMax(DataMin))
			for i := range record {
				record[i]++ // it lies in the memory
			}
		}
		require.Fail(t, "more records than there is room for")
	})
}

func BenchmarkHop(b *testing.B) {
	w, r, _ := pair(b, 1<<16)
	b.ReportAllocs()
	for b.Loop() {
		room, _, _ := w.Reserve(40)
		room[0]++
		w.Commit()
		if _, ok, _ := r.Next(); !ok {
			b.Fatal("lost")
		}
	}
}
