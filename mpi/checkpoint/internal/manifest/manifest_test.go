package manifest

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/sums"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// sample is a manifest with an array of more than one block, one without elements, and a value.
func sample() *Manifest {
	return &Manifest{
		Number: 7, Step: -3, Ranks: 4, DataBytes: 8192 + 5, BlockBytes: 1024,
		Items: []Item{
			{Name: "plate", Type: Array, Kind: "float64", ElemBytes: 8, Shape: []int64{10, 16}, Off: 0, Len: 1280, Sums: []uint32{0x01020304, 0xfffefdfc}},
			{Name: "empty", Type: Array, Kind: "none", ElemBytes: 12, Shape: []int64{3, 0, 2}, Off: 1280},
			{Name: "größe", Type: Value, Off: 8192, Len: 5, Sums: []uint32{42}},
		},
	}
}

func encoded(t testing.TB, m *Manifest) []byte {
	b, err := m.Append(nil)
	require.NoError(t, err)
	return b
}

func TestGolden(t *testing.T) {
	golden.CheckVectors(t, "testdata/manifest.golden", []golden.Vector{
		{Name: "sample", Comment: "checkpoint 7 of step -3 by 4 ranks: an array, one without elements, and a value", Bytes: encoded(t, sample())},
		{Name: "nothing", Comment: "checkpoint 1 of step 0 by 1 rank, without items", Bytes: encoded(t, &Manifest{Number: 1, Ranks: 1, BlockBytes: 1 << 20})},
	})
}

func TestParse(t *testing.T) {
	got, err := Parse(encoded(t, sample()))
	require.NoError(t, err)
	assert.Equal(t, sample(), got)
	appended, err := sample().Append([]byte("before"))
	require.NoError(t, err)
	assert.Equal(t, encoded(t, sample()), appended[6:])
}

// TestDamaged: no prefix and no manifest with a wrong byte is taken for a manifest.
func TestDamaged(t *testing.T) {
	b := encoded(t, sample())
	for n := range b {
		_, err := Parse(b[:n:n])
		require.ErrorIs(t, err, errclass.IO, "%d bytes", n)
	}
	for i := range b {
		b[i] ^= 0x10
		_, err := Parse(b)
		require.ErrorIs(t, err, errclass.IO, "byte %d", i)
		b[i] ^= 0x10
	}
	_, err := Parse(append(b, 0))
	require.ErrorIs(t, err, errclass.IO)
}

// sealed gives bytes the length and the checksum of a manifest.
func sealed(b []byte) []byte {
	end := len(b) - sumBytes
	binary.LittleEndian.PutUint32(b[12:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[end:], sums.Of(b[:end]))
	return b
}

// TestNewer: a manifest of another version is no damaged one.
func TestNewer(t *testing.T) {
	b := encoded(t, sample())
	b[8] = 2
	_, err := Parse(sealed(b))
	require.ErrorIs(t, err, errclass.UnsupportedOperation)
	assert.ErrorContains(t, err, "version 2")
}

// TestHostile: a manifest with a valid checksum in which something is wrong.
func TestHostile(t *testing.T) {
	for name, spoil := range map[string]func(m *Manifest){
		"number":            func(m *Manifest) { m.Number = 0 },
		"ranks":             func(m *Manifest) { m.Ranks = 0 },
		"negative data":     func(m *Manifest) { m.DataBytes = math.MinInt64 },
		"short data":        func(m *Manifest) { m.DataBytes-- },
		"long data":         func(m *Manifest) { m.DataBytes++ },
		"small blocks":      func(m *Manifest) { m.BlockBytes = 1 },
		"large blocks":      func(m *Manifest) { m.BlockBytes = math.MaxUint32 },
		"no name":           func(m *Manifest) { m.Items[0].Name = "" },
		"name":              func(m *Manifest) { m.Items[0].Name = "\xff" },
		"two of one name":   func(m *Manifest) { m.Items[1].Name = "plate" },
		"type":              func(m *Manifest) { m.Items[0].Type = 3 },
		"no kind":           func(m *Manifest) { m.Items[0].Kind = "" },
		"kind":              func(m *Manifest) { m.Items[0].Kind = "\xff" },
		"no element":        func(m *Manifest) { m.Items[1].ElemBytes = 0 },
		"no dimensions":     func(m *Manifest) { m.Items[0].Shape = nil },
		"many dimensions":   func(m *Manifest) { m.Items[1].Shape = make([]int64, DimsMax+1) },
		"negative":          func(m *Manifest) { m.Items[0].Shape = []int64{-10, -16} },
		"other shape":       func(m *Manifest) { m.Items[0].Shape[0]++ },
		"huge shape":        func(m *Manifest) { m.Items[0].Shape = []int64{1 << 40, 1 << 40} },
		"shape around zero": func(m *Manifest) { m.Items[0].Shape = []int64{1 << 62, 4} },
		"overlap":           func(m *Manifest) { m.Items[1].Off-- },
		"negative offset":   func(m *Manifest) { m.Items[0].Off = -1 },
		"far offset":        func(m *Manifest) { m.Items[2].Off = math.MaxInt64 },
		"negative length":   func(m *Manifest) { m.Items[2].Len = math.MinInt64 },
		"value with shape":  func(m *Manifest) { m.Items[2].Shape = []int64{5} },
		"value with kind":   func(m *Manifest) { m.Items[2].Kind = "byte" },
		"large value":       func(m *Manifest) { m.Items[2].Len = ValueBytesMax + 1; m.DataBytes = m.Items[2].Off + m.Items[2].Len },
		"sums":              func(m *Manifest) { m.Items[0].Sums = m.Items[0].Sums[:1] },
		"many items":        func(m *Manifest) { m.Items = make([]Item, ItemsMax+1) },
	} {
		m := sample()
		spoil(m)
		require.ErrorIs(t, m.Check(), errclass.IO, name)
		_, err := m.Append(nil)
		require.ErrorIs(t, err, errclass.IO, name)
		_, err = Parse(m.append(nil))
		require.ErrorIs(t, err, errclass.IO, name)
	}
	b := encoded(t, sample())
	for at, name := range map[int]string{48: "more items", 52: "reserved"} {
		c := slices.Clone(b)
		c[at]++
		_, err := Parse(sealed(c))
		require.ErrorIs(t, err, errclass.IO, name)
	}
	_, err := Parse(sealed(append(b, 0)))
	require.ErrorIs(t, err, errclass.IO)
}

func FuzzParse(f *testing.F) {
	f.Add(encoded(f, sample()))
	f.Add(encoded(f, &Manifest{Number: 1, Ranks: 1, BlockBytes: 1 << 20}))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = Parse(b)
		if len(b) < headBytes+sumBytes {
			return
		}
		// Behind the checksum, too.
		copy(b, magic)
		binary.LittleEndian.PutUint32(b[8:], version)
		m, err := Parse(sealed(b))
		if err != nil {
			return
		}
		again, err := m.Append(nil)
		require.NoError(t, err)
		require.Equal(t, b[:len(again)], again, "what is valid has one form")
	})
}

// TestPlace: items do not overlap, begin at an alignment, and have few enough blocks.
func TestPlace(t *testing.T) {
	list := []Item{{Len: 1}, {Len: 0}, {Len: 4096}, {Len: 1}}
	data, block, ok := Place(list)
	require.True(t, ok)
	assert.EqualValues(t, []int64{0, 1, 4096, 8192}, []int64{list[0].Off, list[1].Off, list[2].Off, list[3].Off})
	assert.EqualValues(t, 8193, data)
	assert.EqualValues(t, 1<<20, block)
	_, block, ok = Place([]Item{{Len: 5 << 40}})
	require.True(t, ok)
	assert.EqualValues(t, 2<<20, block)
	for _, n := range []int64{math.MaxInt64, 1 << 60} {
		_, _, ok = Place([]Item{{Len: 1}, {Len: n}})
		assert.False(t, ok)
	}
	data, _, ok = Place(nil)
	assert.True(t, ok)
	assert.Zero(t, data)
}

// TestNames: files are found by their names, and others are left alone.
func TestNames(t *testing.T) {
	assert.Equal(t, "checkpoint-000000012.data", DataName(12))
	assert.Equal(t, "checkpoint-1234567890123.manifest", Name(1234567890123))
	l := List([]string{
		Name(3), DataName(3), DataName(4), Name(2), NewName(4), DataName(1), Name(1), NewName(9),
		"checkpoint-1.data", "checkpoint-000000005.data2", "checkpoint-.data", "checkpoint-000000006", "checkpoint--00000007.data",
		"checkpoint-000000000.data", "checkpoint-99999999999999999999.manifest", "checkpoint-4611686018427387905.data", "notes", "",
	})
	assert.Equal(t, Listing{Whole: []int64{1, 3}, Broken: []int64{2}, Data: []int64{4}, New: []int64{4, 9}, Last: 9}, l)
	assert.True(t, l.HasManifest(2))
	assert.True(t, l.HasManifest(3))
	assert.False(t, l.HasManifest(4))
}
