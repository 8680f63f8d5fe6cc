package number_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// slotBytes is the size of an operand and of a result of testdata/numbers.c.
const slotBytes = 16

// inC returns what C makes of operands.
func inC(t *testing.T, kind string, operands []byte) []byte {
	t.Helper()
	cc := need.Program(t, "gcc")
	program := filepath.Join(t.TempDir(), "numbers")
	text, err := exec.CommandContext(t.Context(), cc, "-O1", "-o", program, "testdata/numbers.c").CombinedOutput()
	if err != nil {
		t.Skipf("this gcc lacks one of the types: %s", text)
	}
	run := exec.CommandContext(t.Context(), program, kind)
	run.Stdin = bytes.NewReader(operands)
	out, err := run.Output()
	require.NoError(t, err)
	return out
}

// operands draws n pairs of numbers.
func operands(r *rand.Rand, n int, draw func() (hi, lo uint64)) []byte {
	var out []byte
	for range 2 * n {
		hi, lo := draw()
		out = binary.LittleEndian.AppendUint64(out, lo)
		out = binary.LittleEndian.AppendUint64(out, hi)
	}
	return out
}

// exponent draws an exponent field whose largest value is special.
func exponent(r *rand.Rand, special uint64) uint64 {
	switch r.IntN(6) {
	case 0:
		return 0
	case 1:
		return special
	case 2: // so that products are subnormal
		return special/4 + uint64(r.IntN(8)) - 4
	case 3: // so that sums and products overflow
		return special - uint64(1+r.IntN(4))
	}
	return min(special, special/2+uint64(r.IntN(160))-80)
}

// sparse draws bits, often few, so that results are ties.
func sparse(r *rand.Rand) uint64 {
	switch r.IntN(4) {
	case 0:
		return 0
	case 1:
		return r.Uint64()
	case 2:
		return 1 << r.IntN(64)
	}
	return -(uint64(1) << r.IntN(64))
}

// drawers draw the bits of a number of each type.
func drawers(r *rand.Rand) map[string]func() (hi, lo uint64) {
	quad := func() (hi, lo uint64) {
		return r.Uint64()&(1<<63) | exponent(r, 0x7fff)<<48 | sparse(r)>>16, sparse(r)
	}
	long := quad
	if !number.LongDoubleIsFloat128 {
		long = func() (hi, lo uint64) {
			e := exponent(r, 0x7fff)
			lo = sparse(r) >> 1
			if e > 0 {
				lo |= 1 << 63
			}
			return uint64(r.IntN(2))<<15 | e, lo
		}
	}
	return map[string]func() (hi, lo uint64){
		"LongDouble": long,
		"Float128":   quad,
		"Float16": func() (hi, lo uint64) {
			return 0, uint64(r.IntN(2))<<15 | min(exponent(r, 31), 31)<<10 | sparse(r)>>54
		},
		"Int128": func() (hi, lo uint64) { return sparse(r), sparse(r) },
	}
}

// A result is one slot of the output, and whether it is a NaN. The bits of a NaN are not compared.
type result struct {
	what   string
	hi, lo uint64
	nan    bool
}

func flags(less, equal bool) result {
	n := uint64(0)
	if less {
		n |= 1
	}
	if equal {
		n |= 2
	}
	return result{what: "<, ==", lo: n}
}

func ofDouble(x float64) result {
	return result{what: "double", lo: math.Float64bits(x), nan: x != x}
}

func ofQuad(what string, x number.Float128) result {
	hi, lo := x.Bits()
	return result{what, hi, lo, x.IsNaN()}
}

func ofLong(what string, x number.LongDouble) result {
	hi, lo := x.Bits()
	return result{what, hi, lo, x.IsNaN()}
}

func ofHalf(what string, x number.Float16) result {
	return result{what, 0, uint64(x.Bits()), x.IsNaN()}
}

func ofInt(what string, x number.Int128) result {
	hi, lo := x.Bits()
	return result{what: what, hi: hi, lo: lo}
}

// here is what this package makes of two operands. Less says that -0 is less than 0, and C does not.
func here(kind string, ahi, alo, bhi, blo uint64) []result {
	switch kind {
	case "LongDouble":
		a, b := number.LongDoubleFromBits(ahi, alo), number.LongDoubleFromBits(bhi, blo)
		return []result{ofLong("+", a.Add(b)), ofLong("-", a.Sub(b)), ofLong("×", a.Mul(b)), flags(a.Less(b) && !a.Equal(b), a.Equal(b)),
			ofDouble(a.Float64()), ofQuad("quad", a.Float128()), ofLong("long double", a.Sub(number.LongDouble{}))}
	case "Float128":
		a, b := number.Float128FromBits(ahi, alo), number.Float128FromBits(bhi, blo)
		return []result{ofQuad("+", a.Add(b)), ofQuad("-", a.Sub(b)), ofQuad("×", a.Mul(b)), flags(a.Less(b) && !a.Equal(b), a.Equal(b)),
			ofDouble(a.Float64()), ofQuad("quad", a), ofLong("long double", number.LongDoubleFromFloat128(a))}
	case "Float16":
		a, b := number.Float16FromBits(uint16(alo)), number.Float16FromBits(uint16(blo))
		return []result{ofHalf("+", a.Add(b)), ofHalf("-", a.Sub(b)), ofHalf("×", a.Mul(b)), flags(a.Less(b) && !a.Equal(b), a.Equal(b)),
			ofDouble(a.Float64()), ofQuad("quad", number.Float128FromFloat64(a.Float64())), ofLong("long double", number.LongDoubleFromFloat64(a.Float64()))}
	}
	a, b := number.Int128FromBits(ahi, alo), number.Int128FromBits(bhi, blo)
	return []result{ofInt("+", a.Add(b)), ofInt("×", a.Mul(b)), flags(a.Less(b), a.Equal(b))}
}

// TestAgainstC: every result is that of C, bit for bit.
func TestAgainstC(t *testing.T) {
	for _, kind := range []string{"LongDouble", "Float128", "Float16", "Int128"} {
		t.Run(kind, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			in := operands(r, 100_000, drawers(r)[kind])
			out := inC(t, kind, in)
			for i := 0; len(in) > 0; i++ {
				ahi, alo := binary.LittleEndian.Uint64(in[8:]), binary.LittleEndian.Uint64(in)
				bhi, blo := binary.LittleEndian.Uint64(in[24:]), binary.LittleEndian.Uint64(in[16:])
				for _, want := range here(kind, ahi, alo, bhi, blo) {
					hi, lo := binary.LittleEndian.Uint64(out[8:]), binary.LittleEndian.Uint64(out)
					got := want
					got.hi, got.lo = hi, lo
					if want.nan {
						require.True(t, isNaN(kind, want.what, hi, lo), "%s of %x %x and %x %x is NaN here, and %x %x in C", want.what, ahi, alo, bhi, blo, hi, lo)
					} else {
						require.Equal(t, got, want, "%s of %x %x and %x %x", want.what, ahi, alo, bhi, blo)
					}
					out = out[slotBytes:]
				}
				in = in[2*slotBytes:]
			}
			require.Empty(t, out)
		})
	}
}

// isNaN tells whether a slot is a NaN.
func isNaN(kind, what string, hi, lo uint64) bool {
	switch {
	case what == "double":
		x := math.Float64frombits(lo)
		return x != x
	case what == "quad" || kind == "Float128" && what != "long double":
		return number.Float128FromBits(hi, lo).IsNaN()
	case what == "long double" || kind == "LongDouble":
		return number.LongDoubleFromBits(hi, lo).IsNaN()
	}
	return number.Float16FromBits(uint16(lo)).IsNaN()
}
