package coll_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/mpi/colltest"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ranksMax = 17

// lengths are the elements, or bytes, of a piece or vector: none, fewer than
// ranks, some that no number of ranks divides, and more than a threshold or two.
var lengths = []int{0, 1, 5, 16, 97, 3000}

// A plain is one way to run one operation.
type plain struct {
	n      int
	choose coll.Choice
	hosts  []int // nil: nothing is known of them
	rng    *rand.Rand
	seed   uint64
}

func (p *plain) String() string {
	return fmt.Sprintf("seed=%d n=%d algorithm=%q hosts=%v", p.seed, p.n, p.choose, p.hosts)
}

// every calls f for each number of ranks and each algorithm, Auto included.
func every(t *testing.T, op coll.Operation, f func(t *testing.T, p *plain)) {
	choices := []coll.Choice{coll.Auto}
	for _, a := range coll.Algorithms(op) {
		choices = append(choices, a.Name)
	}
	if len(choices) > 1 {
		require.Equal(t, coll.Linear, choices[1], "the reference comes first")
	}
	for _, choose := range choices {
		t.Run("algorithm="+string(choose), func(t *testing.T) {
			for n := 1; n <= ranksMax; n++ {
				if (race.Enabled || testing.Short()) && n > 5 && n != 8 && n != ranksMax {
					continue
				}
				seed := uint64(n*1000 + len(choose))
				p := &plain{n: n, choose: choose, seed: seed, rng: rand.New(rand.NewPCG(seed, 1))}
				if choose != coll.Hierarchical {
					f(t, p)
					continue
				}
				for _, p.hosts = range hostMaps(p.rng, n) {
					f(t, p)
				}
			}
		})
	}
}

// run runs f on all ranks and requires that all goes well.
func (p *plain) run(t *testing.T, f func(c coll.Comm, s *coll.Scratch) error) {
	t.Helper()
	p.seed++
	scratch := make([]coll.Scratch, p.n)
	w := colltest.New(p.n, p.seed)
	if p.hosts != nil {
		w.On(p.hosts)
	}
	err := w.Run(func(c coll.Comm) error { return f(c, &scratch[c.Rank()]) })
	require.NoError(t, err, p.String())
}

// hostMaps are ways to spread n ranks over hosts: as many consecutive ranks on each host as
// far as they reach, any numbers of consecutive ranks, and any ranks.
func hostMaps(rng *rand.Rand, n int) [][]int {
	even, uneven, mixed := make([]int, n), make([]int, n), make([]int, n)
	each := 1 + rng.IntN(4)
	for i := range n {
		even[i] = i / each
		if i > 0 {
			uneven[i] = uneven[i-1] - rng.IntN(3)/2 // the number of a host means nothing
		}
		mixed[i] = rng.IntN(5)
	}
	return [][]int{even, uneven, mixed}
}

// roots are some ranks, first and last included.
func (p *plain) roots() []int {
	roots := []int{0}
	if p.n > 1 {
		roots = append(roots, p.n-1)
	}
	if p.n > 2 {
		roots = append(roots, 1+p.rng.IntN(p.n-2))
	}
	return roots
}

func (p *plain) bytes(n int) []byte {
	b := make([]byte, n+8)
	for i := 0; i < n; i += 8 {
		binary.NativeEndian.PutUint64(b[i:], p.rng.Uint64())
	}
	return b[:n:n]
}

// pieces are n pieces of a length, or of any up to twice that if it varies.
func (p *plain) pieces(n, length int, vary bool) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		k := length
		if vary {
			k = p.rng.IntN(2*length + 1)
		}
		out[i] = p.bytes(k)
	}
	return out
}

// like are pieces of the same lengths with something else in them.
func like(pieces [][]byte) [][]byte {
	out := make([][]byte, len(pieces))
	for i := range out {
		out[i] = junk(len(pieces[i]))
	}
	return out
}

// junk is what a buffer has before it gets its result.
func junk(n int) []byte {
	return bytes.Repeat([]byte{0xa5}, n)
}

func concat(pieces [][]byte) []byte {
	out := []byte{}
	for _, p := range pieces {
		out = append(out, p...)
	}
	return out
}

// affine is maps x → ax+b of 32-bit numbers, one after the other: associative,
// exact, and as far from commutative as it gets.
var affine = must(reduce.New("affine", false, func(in, inout []byte, _ *datatype.Type, count int) {
	for i := range count {
		x, y := in[8*i:], inout[8*i:]
		a, b := get(x), get(x[4:])
		c, d := get(y), get(y[4:])
		binary.NativeEndian.PutUint32(y, a*c)
		binary.NativeEndian.PutUint32(y[4:], c*b+d)
	}
}))

func get(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// operators are what vectors are reduced with.
var operators = []struct {
	op *reduce.Op
	t  *datatype.Type
}{
	{reduce.Sum, datatype.Int32},
	{reduce.Max, datatype.Uint16},
	{affine, must(datatype.Contiguous(2, datatype.Uint32))},
}

// folded is the plain reduction of vectors, in order.
func folded(vectors [][]byte, op *reduce.Op, t *datatype.Type) []byte {
	acc := append([]byte(nil), vectors[len(vectors)-1]...)
	for i := len(vectors) - 2; i >= 0; i-- {
		op.Apply(acc, vectors[i], t, len(acc)/t.Size())
	}
	return acc
}
