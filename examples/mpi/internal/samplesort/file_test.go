package samplesort

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesAreWrittenAndReadInPieces(t *testing.T) {
	const n = 2*pieceRecords + 77
	f, err := os.Create(filepath.Join(t.TempDir(), "records"))
	require.NoError(t, err)
	defer f.Close()
	records := made(t, "uniform", n, 1)
	h := Header{Count: n, Sum: Summarize(records).Sum}
	const cut = pieceRecords + 5
	require.NoError(t, WriteRecords(f, cut, records[cut:]))
	require.NoError(t, WriteRecords(f, 0, records[:cut]))
	require.NoError(t, WriteHeader(f, h))

	info, err := f.Stat()
	require.NoError(t, err)
	got, err := ReadHeader(f, info.Size())
	require.NoError(t, err)
	require.Equal(t, h, got)
	back := make([]Record, n)
	require.NoError(t, ReadRecords(f, 0, back[:9]))
	require.NoError(t, ReadRecords(f, 9, back[9:]))
	require.Equal(t, records, back)
	require.NoError(t, ReadRecords(f, n, nil))
	require.ErrorIs(t, ReadRecords(f, n-3, make([]Record, 4)), io.ErrUnexpectedEOF)
}

// The bytes of a file are a promise to other programs.
func TestTheBytesOfAFile(t *testing.T) {
	b := Header{Count: 0x0102, Sum: 0x1122334455667788}.Append(nil)
	assert.Equal(t, "VIASORT\n\x01\x00\x00\x00\x10\x00\x00\x00\x02\x01\x00\x00\x00\x00\x00\x00\x88\x77\x66\x55\x44\x33\x22\x11", string(b))
	assert.Equal(t, uint64(0xe06dd043328bd285), Record{Key: 1, Value: 2}.hash())
}

func TestBadHeadersAreRefused(t *testing.T) {
	good := Header{Count: 3, Sum: 9}.Append(nil)
	size := int64(HeaderBytes + 3*RecordBytes)
	_, err := ParseHeader(good, size)
	require.NoError(t, err)
	for n := range HeaderBytes {
		_, err := ParseHeader(good[:n], size)
		assert.Error(t, err, "%d bytes", n)
	}
	for _, bytes := range []int64{0, -1, HeaderBytes, size - 1, size + 1, math.MaxInt64} {
		_, err := ParseHeader(good, bytes)
		assert.Error(t, err, "a file of %d bytes", bytes)
	}
	for at := range 24 {
		bad := append([]byte(nil), good...)
		bad[at] ^= 0x80
		_, err := ParseHeader(bad, size)
		assert.Error(t, err, "byte %d", at)
	}
	for _, count := range []uint64{countMax + 1, math.MaxUint64, 1 << 60, 1<<60 + 3} {
		_, err := ParseHeader(Header{Count: count}.Append(nil), size)
		assert.Error(t, err, "%d records", count)
	}
	_, err = ReadHeader(strings.NewReader("VIA"), 3)
	assert.ErrorContains(t, err, "too short")
}

func FuzzParseHeader(f *testing.F) {
	f.Add(Header{Count: 3, Sum: 9}.Append(nil), int64(80))
	f.Add([]byte(magic), int64(8))
	f.Fuzz(func(t *testing.T, b []byte, size int64) {
		h, err := ParseHeader(b, size)
		if err != nil {
			return
		}
		require.Equal(t, h.Append(nil), b[:HeaderBytes])
		require.Equal(t, size, h.FileBytes())
		require.LessOrEqual(t, h.Count, uint64(size)/RecordBytes)
	})
}

var errDisk = errors.New("disk")

// broken is a file on a broken disk.
type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error)  { return 0, errDisk }
func (broken) WriteAt([]byte, int64) (int, error) { return 0, errDisk }

func TestErrorsOfTheDiskAreHandedOn(t *testing.T) {
	_, err := ReadHeader(broken{}, 100)
	require.ErrorIs(t, err, errDisk)
	require.ErrorIs(t, WriteHeader(broken{}, Header{}), errDisk)
	require.ErrorIs(t, ReadRecords(broken{}, 0, make([]Record, 1)), errDisk)
	require.ErrorIs(t, WriteRecords(broken{}, 0, make([]Record, 1)), errDisk)
}

func TestInputs(t *testing.T) {
	for _, kind := range names() {
		whole := made(t, kind, 1000, 4)
		in, err := NewInput(kind, 1000, 4)
		require.NoError(t, err)
		part := make([]Record, 30)
		in.Fill(500, part)
		assert.Equal(t, whole[500:530], part, "%s: a part is that of the whole", kind)
	}
	assert.NotEqual(t, made(t, "uniform", 10, 1), made(t, "uniform", 10, 2))
	assert.True(t, Summarize(made(t, "sorted", 1000, 1)).Sorted)
	for _, bad := range []string{"", "Uniform", "random"} {
		_, err := NewInput(bad, 1, 1)
		assert.Error(t, err)
	}
	_, err := NewInput("uniform", countMax+1, 1)
	assert.Error(t, err)
}
