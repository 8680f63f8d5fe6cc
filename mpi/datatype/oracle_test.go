package datatype_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// seedsPerRun is how many random type trees each run checks.
const seedsPerRun = 2500

// TestAgainstTypeMaps compares random types with their type maps: bounds, totals, packing and
// unpacking, whole and in pieces, native and external.
func TestAgainstTypeMaps(t *testing.T) {
	seeds := uint64(seedsPerRun)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		r := generator(seed)
		g := generate(r, between(r, 0, 4))
		count := r.IntN(4)
		if len(g.m.leaves)*count > leavesMax {
			count = 1
		}
		c := &check{t, g, count, seed}
		c.numbers()
		mem, origin := c.memory(r)
		c.fits(len(mem), origin)
		c.packs(r, mem, origin)
		c.unpacks(r, len(mem), origin)
		c.elementsIn()
		c.piece()
	}
}

// A check is one type with its model.
type check struct {
	*testing.T
	generated
	count int
	seed  uint64
}

func (c *check) is(want, got any, what string) {
	c.Helper()
	require.Equal(c, want, got, "%s of %d times %s, seed %d", what, c.count, c.text, c.seed)
}

func (c *check) numbers() {
	lb, extent := c.t.Extent()
	wantLB, wantExtent := c.m.bounds()
	c.is(wantLB, lb, "lower bound")
	c.is(wantExtent, extent, "extent")
	lb, extent = c.t.TrueExtent()
	wantLB, wantExtent = c.m.trueBounds()
	c.is(wantLB, lb, "true lower bound")
	c.is(wantExtent, extent, "true extent")
	c.is(c.m.size(), c.t.Size(), "size")
	c.is(c.dense(), c.t.Contiguous(), "being contiguous")
}

// dense reports whether the bytes of two elements are in order from the address on.
func (c *check) dense() bool {
	at := 0
	for _, l := range c.m.elements(2).leaves {
		if l.disp != at {
			return false
		}
		at += l.size
	}
	_, extent := c.m.bounds()
	lb, _ := c.m.bounds()
	return lb == 0 && extent == c.m.size()
}

// memory is just large enough, and full of bytes that differ.
func (c *check) memory(r source) (mem []byte, origin int) {
	lb, extent := c.m.elements(c.count).trueBounds()
	mem = make([]byte, extent)
	for i := range mem {
		mem[i] = byte(r.IntN(256))
	}
	return mem, -lb
}

func (c *check) fits(n, origin int) {
	require.NoError(c, c.t.Fits(n, origin, c.count), "%s, seed %d", c.text, c.seed)
	if n > 0 {
		require.Error(c, c.t.Fits(n-1, origin, c.count), "a byte missing at the end: %s, seed %d", c.text, c.seed)
		require.Error(c, c.t.Fits(n, origin-1, c.count), "a byte missing at the start: %s, seed %d", c.text, c.seed)
	}
}

func (c *check) packs(r source, mem []byte, origin int) {
	all := c.m.elements(c.count)
	want := all.pack(mem, origin, false)
	got := make([]byte, len(want)+3)
	n, err := c.t.Pack(got, mem, origin, c.count)
	require.NoError(c, err)
	c.is(want, append([]byte(nil), got[:n]...), "packed bytes")
	c.is([]byte{0, 0, 0}, got[n:], "bytes behind the packed ones")

	external := all.pack(mem, origin, true)
	n, err = c.t.PackExternal(got, mem, origin, c.count)
	require.NoError(c, err)
	c.is(external, append([]byte(nil), got[:n]...), "external32")

	var pieces []byte
	cur, err := datatype.NewCursor(c.t, mem, origin, c.count)
	require.NoError(c, err)
	for cur.Left() > 0 {
		piece := make([]byte, between(r, 1, 1+r.IntN(60)))
		pieces = append(pieces, piece[:cur.Pack(piece)]...)
		c.is(len(pieces), cur.Pos(), "position of the cursor")
	}
	c.is(want, pieces, "bytes packed in pieces")

	conv, err := datatype.NewConverter(datatype.External32, c.t, mem, origin, c.count)
	require.NoError(c, err)
	c.is(len(external), conv.Size(), "size in external32")
	pieces = make([]byte, len(external))
	for rest := pieces; len(rest) > 0; {
		k := min(between(r, 1, 1+r.IntN(60)), len(rest))
		require.NoError(c, conv.Pack(rest[:k], len(pieces)-len(rest)))
		rest = rest[k:]
	}
	c.is(true, bytes.Equal(external, pieces), "external32 packed in pieces")
}

func (c *check) unpacks(r source, n, origin int) {
	all := c.m.elements(c.count)
	if err := c.t.Distinct(c.count); err != nil {
		_, got := c.t.Unpack(make([]byte, n), origin, c.count, nil)
		c.is(err, got, "refusal to unpack")
		_, got = c.t.UnpackExternal(make([]byte, n), origin, c.count, nil)
		c.is(err, got, "refusal to unpack external32")
		c.is(true, all.overlaps(), "overlapping")
	}
	if all.overlaps() {
		return
	}
	packed := make([]byte, all.size())
	for i := range packed {
		packed[i] = byte(r.IntN(256))
	}
	short := packed[:r.IntN(len(packed)+1)]
	for _, src := range [][]byte{packed, short} {
		want, got := make([]byte, n), make([]byte, n)
		taken, err := c.t.Unpack(got, origin, c.count, src)
		require.NoError(c, err)
		c.is(all.unpack(want, origin, src, false), taken, "bytes taken")
		c.is(want, got, "unpacked memory")

		clear(want)
		clear(got)
		taken, err = c.t.UnpackExternal(got, origin, c.count, src)
		require.NoError(c, err)
		c.is(all.unpack(want, origin, src, true), taken, "bytes taken of external32")
		c.is(want, got, "memory unpacked from external32")
	}
	c.unpacksPieces(r, packed, n, origin)
}

// unpacksPieces unpacks in pieces and skips some of them.
func (c *check) unpacksPieces(r source, packed []byte, n, origin int) {
	for _, external := range []bool{false, true} {
		got := make([]byte, n)
		cur, err := datatype.NewCursor(c.t, got, origin, c.count)
		require.NoError(c, err)
		conv, err := datatype.NewConverter(datatype.External32, c.t, got, origin, c.count)
		require.NoError(c, err)
		src := slices.Clone(packed)
		for rest := src; len(rest) > 0; {
			k := min(between(r, 1, 1+r.IntN(60)), len(rest))
			switch {
			case r.IntN(5) == 0:
				c.is(k, cur.Skip(k), "bytes skipped")
				clear(rest[:k])
			case external:
				require.NoError(c, conv.Unpack(len(src)-len(rest), rest[:k]))
			default:
				c.is(k, cur.Unpack(rest[:k]), "bytes unpacked")
			}
			rest = rest[k:]
		}
		cur.Skip(len(src))
		want := make([]byte, n)
		c.m.elements(c.count).unpack(want, origin, src, external)
		c.is(true, bytes.Equal(want, got), "memory unpacked in pieces")
		c.is(0, cur.Skip(9), "skipping at the end")
	}
}

func (c *check) elementsIn() {
	all := c.m.elements(c.count)
	ends := map[int]int{0: 0}
	at := 0
	for i, l := range all.leaves {
		at += l.size
		ends[at] = i + 1
	}
	last := 0
	for n := range at + 1 {
		elems, whole := ends[n]
		if whole {
			last = elems
		}
		got, gotWhole := c.t.ElementsIn(n)
		c.is(last, got, "basic elements")
		c.is(whole, gotWhole, "being whole")
	}
}

func (c *check) piece() {
	all := c.m.elements(c.count)
	want := len(all.leaves) > 0
	off, at := 0, 0
	for i, l := range all.leaves {
		if i == 0 {
			off, at = l.disp, l.disp
		}
		want = want && l.disp == at
		at += l.size
	}
	gotOff, length, ok := c.t.Piece(c.count)
	c.is(want, ok, "being one piece")
	if ok {
		c.is([]int{off, all.size()}, []int{gotOff, length}, "the piece")
	}
}
