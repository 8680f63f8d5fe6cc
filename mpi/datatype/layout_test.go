package datatype

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// million is how many blocks large types have here.
const million = 1_000_000

// words is about how many words of memory a layout takes. A node takes 16.
func (n *node) words() (w int) {
	w = 16 + len(n.offs) + len(n.ends)
	if n.body != nil {
		w += n.body.words()
	}
	for _, p := range n.parts {
		w += 2 + p.n.words()
	}
	return w
}

func must(t *Type, err error) *Type {
	if err != nil {
		panic(err)
	}
	return t
}

// TestLayoutsStaySmall: memory grows with the irregularity of a type, not with the number of its
// blocks.
func TestLayoutsStaySmall(t *testing.T) {
	gaps := must(Of[struct {
		A int32
		B float64
	}]())
	places := make([]int, million)
	for i := range places {
		places[i] = 3 * i
	}
	odd := make([]int, million)
	for i := range odd {
		odd[i] = 3*i + i%2
	}
	for name, c := range map[string]struct {
		t     *Type
		words int
	}{
		"vector":              {must(Vector(million, 1, 2, Float64)), 16},
		"vector of blocks":    {must(Vector(million, 3, 4, Float64)), 16},
		"vector without gaps": {must(Vector(million, 3, 3, Float64)), 16},
		"vector of structs":   {must(Vector(million, 1, 2, gaps)), 36},
		"vector of vectors":   {must(Hvector(million, 1, 100, must(Vector(1000, 1, 2, Int8)))), 32},
		"regular indexed":     {must(IndexedBlock(1, places, Float32)), 16},
		"regular structs":     {must(IndexedBlock(1, places, gaps)), 36},
		"adjacent blocks":     {must(Indexed([]int{1, 2, 4}, []int{0, 1, 3}, Int8)), 16},
		"irregular":           {must(IndexedBlock(1, odd, Float32)), 16 + 2*million},
		"subarray":            {must(Subarray([]int{1000, 1000, 1000}, []int{9, 9, 9}, []int{1, 1, 1}, OrderC, Float64)), 32},
		"contiguous rows":     {must(Subarray([]int{1000, 1000, 1000}, []int{9, 1000, 1000}, []int{1, 0, 0}, OrderC, Float64)), 16},
	} {
		assert.LessOrEqual(t, c.t.shape.native.n.words(), c.words, name)
	}
}

// TestLargeTypesCostNothing: making and seeking in a type of a million blocks, or of a
// million million, takes a few steps.
func TestLargeTypesCostNothing(t *testing.T) {
	assert.LessOrEqual(t, testing.AllocsPerRun(10, func() { must(Vector(million, 1, 2, Float64)) }), 10.0)
	huge := must(Hvector(million, 1, 0, must(Hvector(million, 3, 0, Int8))))
	c, err := NewCursor(huge, []byte{1, 2, 3}, 0, 1)
	require.NoError(t, err)
	c.Skip(3*million*million - 4)
	buf := make([]byte, 9)
	require.Equal(t, 4, c.Pack(buf))
	assert.Equal(t, []byte{3, 1, 2, 3}, buf[:4])
}
