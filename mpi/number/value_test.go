package number

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// random64 draws a number of 64 bits whose exponent is often near the ends, or near that of others.
func random64(r *rand.Rand) float64 {
	bits := r.Uint64()
	switch r.IntN(6) {
	case 0: // subnormal, zero
		bits &= 1<<63 | 1<<52 - 1
	case 1: // infinite, NaN
		bits |= 0x7ff << 52
		if r.IntN(2) == 0 {
			bits &^= 1<<52 - 1
		}
	case 2: // around 1
		bits = bits&^(0x7ff<<52) | uint64(1023-30+r.IntN(60))<<52
	case 3: // few bits, so that ties are frequent
		bits &= 0xfff8000000000003
	case 4: // small, so that products are subnormal
		bits = bits&^(0x7ff<<52) | uint64(500+r.IntN(40))<<52
	}
	return math.Float64frombits(bits)
}

func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// TestAgainstTheProcessor: the arithmetic in the format of float64 and of float32 gives what the
// processor gives.
func TestAgainstTheProcessor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300_000 {
		x, y := random64(r), random64(r)
		a, b := fromFloat64(x), fromFloat64(y)
		require.True(t, same(x, toFloat64(a)), "%x", x)
		require.True(t, same(x+y, toFloat64(add(a, b))), "%x + %x: %x", x, y, toFloat64(add(a, b)))
		require.True(t, same(x*y, toFloat64(mul(a, b))), "%x × %x: %x", x, y, toFloat64(mul(a, b)))
		require.Equal(t, x == y, equal(a, b), "%x == %x", x, y)
		require.Equal(t, x < y || x == 0 && y == 0 && math.Signbit(x) && !math.Signbit(y), less(a, b), "%x < %x", x, y)
		require.True(t, same(float64(float32(x)), toFloat64(rounded(a, binary32))), "float32(%x)", x)
		f, g := float32(x), float32(y)
		a, b = fromFloat64(float64(f)), fromFloat64(float64(g))
		require.True(t, same(float64(f+g), toFloat64(rounded(add(a, b), binary32))), "%x + %x", f, g)
		require.True(t, same(float64(f*g), toFloat64(rounded(mul(a, b), binary32))), "%x × %x", f, g)
	}
}

// rounded returns a value of a format.
func rounded(v value, f format) value {
	field, hi, lo := f.pack(v)
	return f.unpack(v.neg, field, hi, lo)
}

// TestAgainstBig: sums and products of normal numbers in all formats are those of math/big, rounded
// once.
func TestAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, f := range []format{binary16, extended, binary128} {
		for range 50_000 {
			draw := func() value {
				hi, lo := r.Uint64()>>1|1<<62, r.Uint64()
				if r.IntN(2) == 0 {
					lo &= r.Uint64() & r.Uint64() & r.Uint64()
				}
				spread := min(f.expMax/3, 1+r.IntN(200))
				return rounded(normalize(r.IntN(2) == 0, r.IntN(2*spread)-spread, hi, lo), f)
			}
			a, b := draw(), draw()
			x, y := toBig(a, f.precision), toBig(b, f.precision)
			for _, op := range []struct {
				name string
				got  value
				want *big.Float
			}{
				{"+", add(a, b), new(big.Float).SetPrec(f.precision).Add(x, y)},
				{"×", mul(a, b), new(big.Float).SetPrec(f.precision).Mul(x, y)},
			} {
				if _, exp := op.want.MantExp(nil), op.want.MantExp(nil); op.want.Sign() != 0 && (exp < 3-f.expMax || exp > f.expMax) {
					continue // not normal
				}
				got := toBig(rounded(op.got, f), f.precision)
				require.Zero(t, op.want.Cmp(got), "%v %s %v: %v, not %v", x, op.name, y, got, op.want)
			}
		}
	}
}

// TestBig: conversions to and from math/big.
func TestBig(t *testing.T) {
	for _, x := range []float64{0, math.Copysign(0, -1), 1, -2.5, math.Inf(1), math.Inf(-1), 0x1p-1074, math.MaxFloat64, math.Pi} {
		require.True(t, same(x, Float128FromBig(big.NewFloat(x)).Float64()), "%v", x)
		require.True(t, same(x, LongDoubleFromBig(big.NewFloat(x)).Float64()), "%v", x)
		require.True(t, same(x, Float128FromFloat64(x).Float64()), "%v", x)
		require.True(t, same(x, LongDoubleFromFloat64(x).Float64()), "%v", x)
		if !math.IsInf(x, 0) {
			require.Zero(t, big.NewFloat(x).Cmp(LongDoubleFromFloat64(x).Big()), "%v", x)
			require.Zero(t, big.NewFloat(x).Cmp(Float128FromFloat64(x).Big()), "%v", x)
		}
	}
	require.Nil(t, Float128FromFloat64(math.NaN()).Big())
	require.Equal(t, "NaN", LongDoubleFromFloat64(math.NaN()).String())
	require.Equal(t, "-2.5", Float16FromBig(big.NewFloat(-2.5)).String())
	require.Equal(t, 65504.0, Float16FromFloat64(65519).Float64())
	require.True(t, math.IsInf(Float16FromFloat64(65520).Float64(), 1))
	require.Equal(t, 0x1p-24, Float16FromFloat64(0x1.8p-25).Float64(), "subnormal")
	require.Zero(t, Float16FromFloat64(0x1p-25).Float64(), "a tie to even")
	third := new(big.Float).SetPrec(400).Quo(big.NewFloat(1).SetPrec(400), big.NewFloat(3))
	require.Equal(t, "0.3333333333333333333333333333333333", Float128FromBig(third).String())
	require.Equal(t, "6.475175119438025110924438958227647e-4966", Float128FromBits(0, 1).String())
}

// TestInt128 compares with math/big.
func TestInt128(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	mod := new(big.Int).Lsh(big.NewInt(1), 128)
	wrap := func(x *big.Int) string {
		x.Mod(x, mod)
		if x.Bit(127) == 1 {
			x.Sub(x, mod)
		}
		return x.String()
	}
	for range 20_000 {
		x, y := Int128FromBits(r.Uint64(), r.Uint64()), Int128FromInt64(int64(r.Uint64())>>r.IntN(64))
		a, b := x.Big(), y.Big()
		require.Equal(t, wrap(new(big.Int).Add(a, b)), x.Add(y).String())
		require.Equal(t, wrap(new(big.Int).Mul(a, b)), x.Mul(y).String())
		require.Equal(t, a.Cmp(b) < 0, x.Less(y))
		require.Equal(t, a.Cmp(b) == 0, x.Equal(y))
	}
	require.True(t, Int128FromInt64(-1).Less(Int128FromInt64(0)))
	require.False(t, Int128{}.IsNaN())
}
