package cg

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatIsWrittenIsReadInEveryBit(t *testing.T) {
	const seed = 17
	r := rand.New(rand.NewPCG(seed, 0))
	matrices := []*Rows{scattered(r, 1), scattered(r, 50)}
	for _, g := range grids() {
		matrices = append(matrices, g.Rows(0, g.Len()))
	}
	for _, a := range matrices {
		var file bytes.Buffer
		require.NoError(t, Write(&file, a))
		text := file.String()
		got, err := Read(iotest.OneByteReader(&file))
		require.NoError(t, err)
		require.Equal(t, a, got, "seed %d", seed)

		// The same file, written by processes with some rows each.
		half := a.Len() / 2
		parts := []*Rows{a.Part(0, half), a.Part(half, a.Len()-half)}
		pieces := AppendHeader(nil, a.Cols, parts[0].LowerEntries()+parts[1].LowerEntries())
		for _, p := range parts {
			pieces = p.AppendEntries(pieces)
		}
		require.Equal(t, text, string(pieces))
	}
}

func TestReadKnowsTheFormsOfTheFormat(t *testing.T) {
	for name, text := range map[string]string{
		"general":   "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n2 2 5e0\n2 1 -.5\n",
		"comments":  "%%MatrixMarket matrix coordinate real general\n% text\n\n%\n 2\t2  3 \n1 1 4\n\n  2 2 5\r\n% more\n2 1 -0.5",
		"capitals":  "%%matrixmarket MATRIX Coordinate REAL General\n2 2 3\n2 1 -0.5\n2 2 5\n1 1 4\n",
		"no end":    "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n2 1 -0.5\n2 2 5",
		"blank end": "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n2 1 -0.5\n2 2 5\n\n \n% end",
	} {
		a, err := Read(strings.NewReader(text))
		require.NoError(t, err, name)
		assert.Equal(t, dense{{4, 0}, {-0.5, 5}}, a.dense(), name)
	}
	a, err := Read(strings.NewReader("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n"))
	require.NoError(t, err)
	assert.Equal(t, dense{{0, 1}, {1, 1}}, a.dense())
	a, err = Read(strings.NewReader("%%MatrixMarket matrix coordinate integer general\n1 3 3\n1 3 7\n1 1 -2\n1 2 0\n"))
	require.NoError(t, err)
	assert.Equal(t, dense{{-2, 0, 7}}, a.dense())
}

func TestRowsWithoutEntriesAreKept(t *testing.T) {
	a, err := Read(strings.NewReader(general + "4 2 4\n1 1 3\n1 2 4\n3 2 5\n3 1 6\n"))
	require.NoError(t, err)
	assert.Equal(t, dense{{3, 4}, {0, 0}, {6, 5}, {0, 0}}, a.dense())
}

const (
	general   = "%%MatrixMarket matrix coordinate real general\n"
	symmetric = "%%MatrixMarket matrix coordinate real symmetric\n"
)

func TestBadFilesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"empty":            "",
		"no header":        "1 1 1\n1 1 1\n",
		"a word more":      "%%MatrixMarket matrix coordinate real general x\n1 1 1\n1 1 1\n",
		"vector":           "%%MatrixMarket vector coordinate real general\n1 1 1\n1 1 1\n",
		"array":            "%%MatrixMarket matrix array real general\n1 1\n1\n",
		"complex":          "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n",
		"hermitian":        "%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n",
		"skew":             "%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 1\n1 1 1\n",
		"no size":          general + "% only this\n",
		"short size":       general + "1 1\n1 1 1\n",
		"long size":        general + "1 1 1 1\n1 1 1\n",
		"negative size":    general + "-1 1 1\n1 1 1\n",
		"size of words":    general + "a b c\n",
		"huge rows":        general + "9999999999 9999999999 9999999999\n1 1 1\n",
		"overflow":         general + "99999999999999999999 1 1\n1 1 1\n",
		"empty rows":       general + "2000000000 2000000000 1\n1 1 1\n",
		"claims entries":   general + "2000000000 2000000000 2000000000\n1 1 1\n",
		"empty columns":    general + "1 2000000000 1\n1 1 1\n",
		"not square":       symmetric + "2 1 2\n1 1 1\n2 1 1\n",
		"ends early":       general + "1 2 2\n1 1 1\n",
		"goes on":          general + "1 1 1\n1 1 1\n1 1 1\n",
		"row 0":            general + "1 1 1\n0 1 1\n",
		"row 2 of 1":       general + "1 1 1\n2 1 1\n",
		"column 0":         general + "1 1 1\n1 0 1\n",
		"column 2 of 1":    general + "1 1 1\n1 2 1\n",
		"row -1":           general + "1 1 1\n-1 1 1\n",
		"row 1.0":          general + "1 1 1\n1.0 1 1\n",
		"no column":        general + "1 1 1\n1\n",
		"no value":         general + "1 1 1\n1 1\n",
		"value of words":   general + "1 1 1\n1 1 one\n",
		"not a number":     general + "1 1 1\n1 1 nan\n",
		"infinite":         general + "1 1 1\n1 1 -inf\n",
		"too large":        general + "1 1 1\n1 1 1e999\n",
		"two values":       general + "1 1 1\n1 1 1 1\n",
		"twice":            general + "2 2 3\n1 1 1\n2 2 1\n1 1 1\n",
		"above diagonal":   symmetric + "2 2 2\n1 2 1\n2 2 1\n",
		"long line":        general + "1 1 1\n1 1 " + strings.Repeat("0", 2000) + "1\n",
		"very long line":   general + "1 1 1\n1 1 " + strings.Repeat("0", 100_000) + "1\n",
		"long comment":     general + "%" + strings.Repeat("x", 70_000) + "\n1 1 1\n1 1 1\n",
		"value in pattern": "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n",
	} {
		_, err := Read(strings.NewReader(text))
		require.Error(t, err, name)
		assert.Regexp(t, `^cg: line \d+ of the matrix: `, err.Error(), name)
	}
}

var errDisk = errors.New("disk")

// dying is a file that cannot be read or written after left bytes.
type dying struct{ left int }

func (d *dying) Write(b []byte) (int, error) {
	if d.left -= len(b); d.left < 0 {
		return 0, errDisk
	}
	return len(b), nil
}

func TestErrorsOfTheFileAreHandedOn(t *testing.T) {
	a := (&Grid{NX: 40, NY: 40, NZ: 1}).Rows(0, 1600)
	var file bytes.Buffer
	require.NoError(t, Write(&file, a))
	for _, n := range []int{0, 10, 70, 100, 5000, file.Len() - 1} {
		require.ErrorIs(t, Write(&dying{n}, a), errDisk, "after %d bytes", n)
		_, err := Read(io.MultiReader(bytes.NewReader(file.Bytes()[:n]), iotest.ErrReader(errDisk)))
		require.ErrorIs(t, err, errDisk, "after %d bytes", n)
	}
	for n := range 200 {
		_, err := Read(bytes.NewReader(file.Bytes()[:n]))
		require.Error(t, err, "cut off after %d bytes", n)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	_, err := Read(strings.NewReader(general + "% comment\n1 1 1\n\n1 7 1\n"))
	require.EqualError(t, err, "cg: line 5 of the matrix: the entry (1, 7) is not in a matrix of 1 × 1")
	_, err = Read(strings.NewReader(general + "1 3 3\n1 1 1\n% x\n1 2 1\n"))
	require.EqualError(t, err, "cg: line 5 of the matrix: the file ends before entry 3 of 3")
}

// A matrix that can be read can be written, and is then read as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(general + "2 2 3\n1 1 4\n2 2 5e0\n2 1 -.5\n"))
	f.Add([]byte(symmetric + "% c\n2 2 3\n1 1 4\n2 2 5e0\n2 1 -.5\n"))
	f.Add([]byte("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var text strings.Builder
		fmt.Fprintf(&text, "%s%d %d %d\n", general, a.Len(), a.Cols, a.Entries())
		for i := range a.Len() {
			cols, vals := a.Row(i)
			for k, col := range cols {
				fmt.Fprintf(&text, "%d %d %v\n", i+1, col+1, vals[k])
			}
		}
		again, err := Read(strings.NewReader(text.String()))
		require.NoError(t, err)
		require.Equal(t, a, again)
		if a.CheckSymmetric() == nil {
			var file bytes.Buffer
			require.NoError(t, Write(&file, a))
			again, err := Read(&file)
			require.NoError(t, err)
			require.Equal(t, a, again)
		}
	})
}
