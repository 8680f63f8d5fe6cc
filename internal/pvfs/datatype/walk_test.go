package datatype

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// expand is the oracle: the offset of every byte of one instance of a type, one by one according to the definition.
func expand(req proto.FileRequest, i int32, base int64) (offsets []int64) {
	for ; i >= 0; i = req[i].Sequence {
		n := req[i]
		if n.Element < 0 {
			for k := range n.Aggregate {
				offsets = append(offsets, base+n.Offset+k)
			}
			continue
		}
		e := req[n.Element]
		for b := range int64(n.NumBlocks) {
			for k := range int64(n.NumEreqs) {
				at := base + n.Offset + b*n.Stride + k*(e.UpperBound-e.LowerBound)
				offsets = append(offsets, expand(req, n.Element, at)...)
			}
		}
	}
	return offsets
}

// bytesOf are the offsets of an operation's bytes.
func bytesOf(req proto.FileRequest, fileOffset, aggregate int64) []int64 {
	var all []int64
	extent := req[0].UpperBound - req[0].LowerBound
	for tile := int64(0); int64(len(all)) < fileOffset+aggregate; tile++ {
		all = append(all, expand(req, 0, tile*extent)...)
	}
	return all[fileOffset : fileOffset+aggregate]
}

// builder makes random requests like the builders of types.
type builder struct {
	r   *rand.Rand
	req proto.FileRequest
}

func randomRequest(r *rand.Rand) proto.FileRequest {
	b := &builder{r: r}
	b.node(1 + r.IntN(3))
	b.req[0].Committed, b.req[0].Nested = -1, int32(len(b.req)-1)
	return b.req
}

// node adds a random type of limited depth and returns its index.
func (b *builder) node(depth int) int32 {
	at := int32(len(b.req))
	b.req = append(b.req, proto.ReqNode{})
	if depth == 0 {
		n := proto.ByteStream()[0]
		n.Aggregate = 1 + b.r.Int64N(3)
		n.UpperBound = n.Aggregate
		b.req[at] = n
		return at
	}
	e := b.node(depth - 1)
	sequence := int32(-1)
	for range b.r.IntN(3) {
		sequence = b.link(int32(len(b.req)), e, sequence)
	}
	b.fill(at, e, sequence)
	if b.r.IntN(4) == 0 { // a resized type
		b.req[at].UpperBound += b.r.Int64N(5)
	}
	return at
}

func (b *builder) link(at, e, sequence int32) int32 {
	b.req = append(b.req, proto.ReqNode{})
	b.fill(at, e, sequence)
	return at
}

// fill sets node at to a list of blocks of e, followed by a sequence.
func (b *builder) fill(at, e, sequence int32) {
	r, element := b.r, b.req[e]
	extent := element.UpperBound - element.LowerBound
	n := proto.ReqNode{
		Offset: r.Int64N(30), NumEreqs: int32(r.IntN(4)), NumBlocks: int32(r.IntN(4)), Element: e, Sequence: sequence,
	}
	if r.IntN(8) > 0 {
		n.NumEreqs, n.NumBlocks = max(n.NumEreqs, 1), max(n.NumBlocks, 1)
	}
	n.Stride = int64(n.NumEreqs)*extent + r.Int64N(6)*r.Int64N(2)
	if r.IntN(6) == 0 {
		n.Offset, n.Stride = n.Offset+3*n.Stride, -n.Stride
	}
	span := int64(max(n.NumBlocks-1, 0)) * n.Stride
	n.LowerBound = n.Offset + min(span, 0)
	n.UpperBound = n.Offset + max(span, 0) + int64(n.NumEreqs)*extent
	n.Aggregate = int64(n.NumEreqs) * int64(n.NumBlocks) * element.Aggregate
	if sequence >= 0 {
		s := b.req[sequence]
		n.LowerBound, n.UpperBound = min(n.LowerBound, s.LowerBound), max(n.UpperBound, s.UpperBound)
		n.Aggregate += s.Aggregate
	}
	b.req[at] = n
}

func regionsOf(offsets []int64) (regions []Region) {
	for _, off := range offsets {
		if n := len(regions); n > 0 && regions[n-1].Off+regions[n-1].Len == off {
			regions[n-1].Len++
			continue
		}
		regions = append(regions, Region{off, 1})
	}
	return regions
}

// operation is a random type and a range of it, with the oracle's result.
func operation(seed uint64) (req proto.FileRequest, fileOffset, aggregate int64, want []int64, r *rand.Rand) {
	r = rand.New(rand.NewPCG(seed, 7))
	for {
		req = randomRequest(r)
		if r.IntN(6) == 0 {
			req = Bytes()
		}
		extent := req[0].UpperBound - req[0].LowerBound
		if req[0].Aggregate > 0 && req[0].Aggregate < 300 && extent > 0 {
			fileOffset, aggregate = r.Int64N(3*req[0].Aggregate), 1+r.Int64N(200)
			return req, fileOffset, aggregate, bytesOf(req, fileOffset, aggregate), r
		}
	}
}

func TestRegions(t *testing.T) {
	for seed := range uint64(1000) {
		req, fileOffset, aggregate, want, _ := operation(seed)
		require.NoError(t, CheckIO(req, fileOffset, aggregate), "seed %d: %+v", seed, req)
		got := slices.Collect(Regions(req, fileOffset, aggregate))
		require.Equal(t, regionsOf(want), got, "seed %d: %d from %d of %+v", seed, aggregate, fileOffset, req)
		for r := range Regions(req, fileOffset, aggregate) { // stop early
			require.Equal(t, got[0], r)
			break
		}
	}
}

func randomMap(r *rand.Rand) (m stripe.Map, n int) {
	n = 1 + r.IntN(5)
	m, err := stripe.Of([]proto.Dist{
		{Name: proto.DistStripe, StripSize: 1 + r.Int64N(20)},
		{Name: proto.DistBasic},
		{Name: proto.DistTwoD, StripSize: 1 + r.Int64N(9), Groups: 1 + r.Uint32N(4), Factor: 1 + r.Uint32N(3)},
		{Name: proto.DistVar, Strips: fmt.Sprintf("0:%d;0:%d", 1+r.IntN(9), 1+r.IntN(9))},
	}[r.IntN(4)])
	if err != nil {
		panic(err)
	}
	return m, n
}

func TestPieces(t *testing.T) {
	for seed := range uint64(500) {
		req, fileOffset, aggregate, want, r := operation(seed)
		m, n := randomMap(r)
		o := Op{m, n, req, fileOffset, aggregate}
		shares := o.Shares()
		size := r.Int64N(100)
		for datafile := range n {
			var phys, mem []int64 // of each byte of the datafile
			stored, ended := int64(0), false
			for i, off := range want {
				d, p := m.Place(off, n)
				if d != datafile {
					continue
				}
				phys, mem = append(phys, p), append(mem, int64(i))
				if ended = ended || p >= size; !ended {
					stored++
				}
			}
			var gotPhys, gotMem []int64
			for p := range Pieces(m, datafile, n, req, fileOffset, aggregate) {
				for k := range p.Len {
					gotPhys, gotMem = append(gotPhys, p.Phys+k), append(gotMem, p.Mem+k)
				}
			}
			what := fmt.Sprintf("seed %d: datafile %d of %d, %s, %d from %d of %+v", seed, datafile, n, m.Name(), aggregate, fileOffset, req)
			require.Equal(t, phys, gotPhys, what)
			require.Equal(t, mem, gotMem, what)
			require.Equal(t, int64(len(phys)), Share(m, datafile, n, req, fileOffset, aggregate), what)
			require.Equal(t, int64(len(phys)), shares[datafile], what)
			require.Equal(t, stored, o.Stored(datafile, size), what)
		}
	}
}

func TestBuilders(t *testing.T) {
	req, err := Vector(100, 3, 4, 10)
	require.NoError(t, err)
	require.NoError(t, Check(req))
	require.Equal(t, []Region{{112, 2}, {120, 4}, {124, 3}}[:2], slices.Collect(Regions(req, 6, 6)))
	// The second tile starts where the extent of the first one ends.
	require.Equal(t, []Region{{120, 8}}, slices.Collect(Regions(req, 8, 8)))

	req, err = Vector(100, 3, 4, -10)
	require.NoError(t, err)
	require.Equal(t, []Region{{100, 4}, {90, 4}, {80, 4}}, slices.Collect(Regions(req, 0, 12)))

	list := []Region{{50, 5}, {10, 3}, {13, 2}, {70, 1}}
	req, err = Indexed(list)
	require.NoError(t, err)
	require.NoError(t, Check(req))
	require.Equal(t, []Region{{50, 5}, {10, 5}, {70, 1}}, slices.Collect(Regions(req, 0, 11)))
	require.Len(t, req, len(list)+1)
	require.Equal(t, int32(len(list)), req[0].Nested)
	require.Equal(t, int64(10), req[0].LowerBound)
	require.Equal(t, int64(71), req[0].UpperBound)

	for _, bad := range [][]Region{nil, {{-1, 5}}, {{0, 0}}, {{math.MaxInt64, 5}}, {{0, math.MaxInt64}}, make([]Region, 101)} {
		_, err := Indexed(bad)
		require.ErrorIs(t, err, ErrRequest)
	}
	for _, bad := range [][4]int64{{-1, 1, 1, 1}, {0, 0, 1, 1}, {0, 1, 0, 1}, {5, 2, 1, -6}, {0, 2, 1, math.MaxInt64}, {0, 3, 5, math.MaxInt64 / 2}} {
		_, err := Vector(bad[0], int(bad[1]), bad[2], bad[3])
		require.ErrorIs(t, err, ErrRequest, "%v", bad)
	}
}

// TestBig: the time for a large operation does not depend on its number of bytes.
func TestBig(t *testing.T) {
	m, err := stripe.Of(stripe.Default(proto.DistStripe))
	require.NoError(t, err)
	require.Equal(t, int64(1<<60), Share(m, 1, 2, Bytes(), 0, 1<<61))
	req, err := Vector(0, math.MaxInt32, 1<<20, 1<<21)
	require.NoError(t, err)
	require.NoError(t, CheckIO(req, 1<<50, 1<<30))
	require.Equal(t, []Region{{1 << 51, 1 << 20}, {1<<51 + 1<<21, 1 << 20}}, slices.Collect(Regions(req, 1<<50, 1<<21)))
	fine, err := Vector(0, math.MaxInt32, 1, 2)
	require.NoError(t, err)
	require.ErrorIs(t, CheckIO(fine, 0, 1<<30), ErrRequest)
	require.NoError(t, CheckIO(fine, 0, 1<<20))
}

func TestRefused(t *testing.T) {
	vector, err := Vector(0, 3, 4, 10)
	require.NoError(t, err)
	for name, spoil := range map[string]func(r proto.FileRequest) proto.FileRequest{
		"empty":         func(proto.FileRequest) proto.FileRequest { return nil },
		"not packed":    func(r proto.FileRequest) proto.FileRequest { r[0].Committed = 0; return r },
		"cycle":         func(r proto.FileRequest) proto.FileRequest { r[1].Element = 0; return r },
		"own sequence":  func(r proto.FileRequest) proto.FileRequest { r[0].Sequence = 0; return r },
		"no such node":  func(r proto.FileRequest) proto.FileRequest { r[0].Element = 2; return r },
		"negative node": func(r proto.FileRequest) proto.FileRequest { r[0].Sequence = -2; return r },
		"counts":        func(r proto.FileRequest) proto.FileRequest { r[0].NumEreqs = -1; return r },
		"bounds":        func(r proto.FileRequest) proto.FileRequest { r[0].LowerBound = 1 << 62; return r },
		"overflow":      func(r proto.FileRequest) proto.FileRequest { r[0].Stride = math.MaxInt64; return r },
		"aggregate":     func(r proto.FileRequest) proto.FileRequest { r[0].Aggregate++; return r },
		"leaf":          func(r proto.FileRequest) proto.FileRequest { r[1].Aggregate = 0; return r },
		"leaf's extent": func(r proto.FileRequest) proto.FileRequest { r[1].UpperBound = 7; return r },
		"many nodes":    func(r proto.FileRequest) proto.FileRequest { return append(r, make(proto.FileRequest, 200)...) },
	} {
		req := spoil(slices.Clone(vector))
		require.ErrorIs(t, Check(req), ErrRequest, name)
		require.Empty(t, slices.Collect(Regions(req, 0, 5)), name)
	}
	loose := Bytes()
	loose[0].Committed = 0
	require.ErrorIs(t, CheckIO(loose, 0, 5), ErrRequest)
	require.Empty(t, slices.Collect(Regions(loose, 0, 5)))
	require.ErrorIs(t, CheckIO(vector, -1, 5), ErrRequest)
	require.ErrorIs(t, CheckIO(vector, 1, math.MaxInt64), ErrRequest)
	require.ErrorIs(t, CheckIO(vector, math.MaxInt64-5, 5), ErrRequest)
	require.Empty(t, slices.Collect(Regions(Bytes(), math.MaxInt64, 5)))
}

func FuzzRegions(f *testing.F) {
	node := func(n proto.ReqNode) []byte { return encode(n) }
	v, _ := Vector(3, 5, 7, 9)
	f.Add(append(node(v[0]), node(v[1])...), int64(0), int64(40))
	x, _ := Indexed([]Region{{5, 5}, {1, 2}})
	f.Add(append(append(node(x[0]), node(x[1])...), node(x[2])...), int64(4), int64(9))
	m, _ := stripe.Of(proto.Dist{Name: proto.DistStripe, StripSize: 10})
	f.Fuzz(func(t *testing.T, b []byte, fileOffset, aggregate int64) {
		var req proto.FileRequest
		for ; len(b) >= nodeBytes && len(req) < 200; b = b[nodeBytes:] {
			req = append(req, decode(b))
		}
		ok := CheckIO(req, fileOffset, aggregate) == nil
		sum, regions := int64(0), 0
		for r := range Regions(req, fileOffset, aggregate) {
			require.True(t, ok)
			require.GreaterOrEqual(t, r.Off, int64(0))
			require.Positive(t, r.Len)
			require.GreaterOrEqual(t, r.Off+r.Len, r.Off)
			sum += r.Len
			if regions++; regions == 10000 {
				return
			}
		}
		if ok {
			require.Equal(t, aggregate, sum)
		}
		if regions < 100 && sum < 1000 {
			require.Equal(t, sum, Share(m, 0, 2, req, fileOffset, aggregate)+Share(m, 1, 2, req, fileOffset, aggregate))
		}
	})
}

func BenchmarkPieces(b *testing.B) {
	m, err := stripe.Of(stripe.Default(proto.DistStripe))
	require.NoError(b, err)
	b.SetBytes(1 << 30)
	for b.Loop() {
		for range Pieces(m, 1, 2, Bytes(), 0, 1<<30) {
		}
	}
}
