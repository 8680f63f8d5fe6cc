package stripe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// place is where the oracle places one byte of a file.
type place struct {
	datafile int
	phys     int64
}

// oracle places bytes one by one, according to the definition of each distribution.
type oracle struct {
	bytes []place
	next  []int64 // by datafile
}

func (o *oracle) put(datafile int, count int64) {
	for range count {
		o.bytes = append(o.bytes, place{datafile, o.next[datafile]})
		o.next[datafile]++
	}
}

// lay fills an oracle with at least total bytes.
func lay(d proto.Dist, varstrips [][2]int64, n int, total int) *oracle {
	o := &oracle{next: make([]int64, n)}
	for len(o.bytes) < total {
		switch d.Name {
		case proto.DistBasic:
			o.put(0, 1)
		case proto.DistStripe:
			for i := range n {
				o.put(i, d.StripSize)
			}
		case proto.DistVar:
			for _, s := range varstrips {
				o.put(int(s[0]), s[1])
			}
		case proto.DistTwoD:
			groups := min(int(d.Groups), n)
			for g := range groups {
				first, end := g*(n/groups), (g+1)*(n/groups)
				if g == groups-1 {
					end = n
				}
				for range d.Factor {
					for i := first; i < end; i++ {
						o.put(i, d.StripSize)
					}
				}
			}
		}
	}
	return o
}

// random makes a distribution and the number of datafiles.
func random(r *rand.Rand) (d proto.Dist, varstrips [][2]int64, n int) {
	n = 1 + r.IntN(7)
	d = proto.Dist{StripSize: 1 + r.Int64N(9), Groups: 1 + r.Uint32N(9), Factor: 1 + r.Uint32N(4)}
	switch d.Name = []string{proto.DistStripe, proto.DistBasic, proto.DistVar, proto.DistTwoD}[r.IntN(4)]; d.Name {
	case proto.DistVar:
		used := 1 + r.IntN(n)
		for i := range used + r.IntN(5) {
			s := [2]int64{int64(r.IntN(used)), 1 + r.Int64N(9)}
			if i < used {
				s[0] = int64(used - 1 - i)
			}
			varstrips = append(varstrips, s)
			d.Strips += fmt.Sprintf("%d:%d;", s[0], s[1])
		}
	case proto.DistBasic, proto.DistStripe:
	}
	return d, varstrips, n
}

func TestOracle(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		d, varstrips, n := random(r)
		m, err := Of(d)
		require.NoError(t, err, "seed %d: %+v", seed, d)
		require.NoError(t, m.Check(n))
		o := lay(d, varstrips, n, 300)
		checkBytes(t, m, o, n, fmt.Sprintf("seed %d: %+v n=%d", seed, d, n))
		checkSizes(t, r, m, o, n, fmt.Sprintf("seed %d: %+v n=%d", seed, d, n))
	}
}

func checkBytes(t *testing.T, m Map, o *oracle, n int, what string) {
	held := make([]int64, n) // bytes below off, by datafile
	for off, p := range o.bytes {
		off := int64(off)
		for i := range n {
			if cut := m.Cut(off, i, n); cut != held[i] {
				t.Fatalf("%s: cut at %d of %d is %d, not %d", what, off, i, cut, held[i])
			}
		}
		held[p.datafile]++
		if datafile, phys := m.Place(off, n); p != (place{datafile, phys}) {
			t.Fatalf("%s: place of %d is %d, %d, not %+v", what, off, datafile, phys, p)
		}
		if got := m.Logical(p.datafile, p.phys, n); got != off {
			t.Fatalf("%s: logical of %+v is %d, not %d", what, p, got, off)
		}
		run := m.Run(p.datafile, p.phys, n)
		if run < 1 {
			t.Fatalf("%s: run at %+v is %d", what, p, run)
		}
		for k := range min(run, int64(len(o.bytes))-off) {
			if o.bytes[off+k] != (place{p.datafile, p.phys + k}) {
				t.Fatalf("%s: run of %d at %d", what, run, off)
			}
		}
	}
	for off := range min(m.StripSize(), int64(len(o.bytes))) {
		if o.bytes[off].datafile != o.bytes[0].datafile {
			t.Fatalf("%s: first strip", what)
		}
	}
}

func checkSizes(t *testing.T, r *rand.Rand, m Map, o *oracle, n int, what string) {
	sizes, want := make([]int64, n), int64(0)
	for i := range sizes {
		sizes[i] = r.Int64N(o.next[i]/2 + 1)
	}
	for off, p := range o.bytes {
		if p.phys < sizes[p.datafile] {
			want = int64(off) + 1
		}
	}
	require.Equal(t, want, m.Size(sizes), "%s: size of %v", what, sizes)
	// After Cut of all datafiles, the file has that size, unless it ends in a hole.
	for i := range sizes {
		sizes[i] = m.Cut(want, i, n)
	}
	require.Equal(t, want, m.Size(sizes), "%s: cut to %d", what, want)
}

// TestFarOffsets compares maps with arithmetic far from the beginning, and checks for overflow near the largest offset.
func TestFarOffsets(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		d, _, n := random(r)
		d.StripSize = 1 + r.Int64N(1<<r.IntN(40))
		m, err := Of(d)
		require.NoError(t, err)
		off := r.Int64N(math.MaxInt64)
		if r.IntN(4) == 0 {
			off = math.MaxInt64 - r.Int64N(4)
		}
		datafile, phys := m.Place(off, n)
		require.Equal(t, off, m.Logical(datafile, phys, n), "seed %d: %+v n=%d off=%d", seed, d, n, off)
		require.Equal(t, phys, m.Cut(off, datafile, n), "seed %d: %+v n=%d off=%d", seed, d, n, off)
		sum := int64(0)
		for i := range n {
			cut := m.Cut(off, i, n)
			sum += cut
			if m.Logical(i, cut, n) < off || cut > 0 && m.Logical(i, cut-1, n) >= off {
				t.Fatalf("seed %d: cut of %d at %d is %d", seed, i, off, cut)
			}
			if m.Logical(i, off, n) < 0 || m.Run(i, off, n) < 0 {
				t.Fatalf("seed %d: far beyond %d", seed, off)
			}
		}
		require.Equal(t, off, sum, "seed %d: every byte is somewhere", seed)
		sizes := make([]int64, n)
		for i := range sizes {
			sizes[i] = off
		}
		require.GreaterOrEqual(t, m.Size(sizes), off, "seed %d", seed)
	}
}

// TestWritten tests examples from captured sessions.
func TestWritten(t *testing.T) {
	m, err := Of(Default(proto.DistStripe))
	require.NoError(t, err)
	require.Equal(t, int64(65536), m.StripSize())
	require.Equal(t, int64(131072), m.BlockSize(2))
	require.Equal(t, int64(65536), m.Cut(100000, 0, 2))
	require.Equal(t, int64(34464), m.Cut(100000, 1, 2))
	require.Equal(t, int64(524288), m.Cut(1000000, 0, 2))
	require.Equal(t, int64(475712), m.Cut(1000000, 1, 2))
	require.Equal(t, int64(100000), m.Size([]int64{65536, 34464}))
}

func TestStripsText(t *testing.T) {
	m, err := Of(proto.Dist{Name: proto.DistVar, Strips: "0:4K; 1:1M;0:2g"})
	require.NoError(t, err)
	require.Equal(t, int64(4096), m.StripSize())
	require.Equal(t, int64(4096+1<<20+2<<30), m.BlockSize(2))
	require.Equal(t, 2, m.Count(17))
	require.NoError(t, m.Check(1))
	require.NoError(t, m.Check(3))
	require.Error(t, m.Check(0))
	require.Equal(t, int64(5000), m.Cut(5000, 0, 1))
	m, err = Of(proto.Dist{Name: proto.DistVar, Strips: "2:1;1:1;0:1"})
	require.NoError(t, err)
	require.Error(t, m.Check(2))
	require.Zero(t, m.StripSize())
	for _, text := range []string{"", ";", "0", "0:", ":5", "0:0", "0:-4", "1:5", "x:5", "0:5x", "0:k", "0:9999999999G", "5000:1", "0:1;2:1"} {
		_, err := Of(proto.Dist{Name: proto.DistVar, Strips: text})
		require.ErrorIs(t, err, ErrParameters, "%q", text)
	}
}

func TestRefused(t *testing.T) {
	for _, d := range []proto.Dist{
		{}, {Name: "nonsense"}, {Name: proto.DistStripe}, {Name: proto.DistStripe, StripSize: -1},
		{Name: proto.DistStripe, StripSize: math.MaxInt64}, {Name: proto.DistTwoD, StripSize: 5, Groups: 0, Factor: 1},
		{Name: proto.DistTwoD, StripSize: 5, Groups: 1}, {Name: proto.DistTwoD, StripSize: 1 << 40, Groups: 1, Factor: 1 << 9},
	} {
		_, err := Of(d)
		require.ErrorIs(t, err, ErrParameters, "%+v", d)
	}
	m, err := Of(Default(proto.DistTwoD))
	require.NoError(t, err)
	require.ErrorIs(t, m.Check(0), ErrParameters)
	require.ErrorIs(t, m.Check(proto.MaxDatafiles+1), ErrParameters)
	require.Equal(t, 1, m.Count(-4))
}

func FuzzMap(f *testing.F) {
	f.Add(uint8(0), int64(65536), uint32(2), uint32(256), "0:4K;1:5", 3, int64(1<<40), 1)
	f.Add(uint8(2), int64(7), uint32(2), uint32(2), "0:4K;1:5;", 2, int64(1<<62), 0)
	f.Add(uint8(3), int64(1), uint32(9), uint32(1), "", 7, int64(math.MaxInt64), 6)
	names := []string{proto.DistStripe, proto.DistBasic, proto.DistVar, proto.DistTwoD}
	f.Fuzz(func(t *testing.T, kind uint8, strip int64, groups, factor uint32, strips string, n int, off int64, datafile int) {
		d := proto.Dist{Name: names[int(kind)%4], StripSize: strip, Groups: groups, Factor: factor, Strips: strips}
		m, err := Of(d)
		if err != nil || m.Check(n) != nil || off < 0 || datafile < 0 || datafile >= n {
			return
		}
		i, phys := m.Place(off, n)
		require.Equal(t, off, m.Logical(i, phys, n))
		cut := m.Cut(off, datafile, n)
		require.GreaterOrEqual(t, cut, int64(0))
		require.LessOrEqual(t, cut, off)
		require.GreaterOrEqual(t, m.Logical(datafile, cut, n), off)
		m.Run(datafile, off, n)
		m.Size([]int64{off, off})
	})
}

func BenchmarkPlace(b *testing.B) {
	m, err := Of(Default(proto.DistStripe))
	require.NoError(b, err)
	for b.Loop() {
		m.Place(1<<30, 4)
	}
}
