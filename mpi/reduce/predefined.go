package reduce

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// The predefined operators (MPI-4.1, 6.9.2).
var (
	// Sum and Prod are defined for integers, floating-point and complex numbers.
	// Integers that overflow wrap around, as always in Go.
	Sum  = &Op{name: "sum", commutative: true, loops: sums()}
	Prod = &Op{name: "prod", commutative: true, loops: prods()}

	// Max and Min are defined for integers and floating-point numbers. They return
	// NaN if one of two numbers is NaN, so the order of ranks never matters.
	Max = &Op{name: "max", commutative: true, loops: maxima()}
	Min = &Op{name: "min", commutative: true, loops: minima()}

	// LAnd, LOr and LXor are defined for integers of Go and C, and for truth values. Every value except
	// 0 is true; the result is 0 or 1.
	LAnd = &Op{name: "land", commutative: true,
		loops: logical(each(land[uint8]), each(land[uint16]), each(land[uint32]), each(land[uint64]),
			logical16(func(a, b bool) bool { return a && b }))}
	LOr = &Op{name: "lor", commutative: true,
		loops: logical(each(lor[uint8]), each(lor[uint16]), each(lor[uint32]), each(lor[uint64]),
			logical16(func(a, b bool) bool { return a || b }))}
	LXor = &Op{name: "lxor", commutative: true,
		loops: logical(each(lxor[uint8]), each(lxor[uint16]), each(lxor[uint32]), each(lxor[uint64]),
			logical16(func(a, b bool) bool { return a != b }))}

	// BAnd, BOr and BXor are defined for integers and bytes.
	BAnd = &Op{name: "band", commutative: true, loops: bitwise(band[uint64], band[uint8])}
	BOr  = &Op{name: "bor", commutative: true, loops: bitwise(bor[uint64], bor[uint8])}
	BXor = &Op{name: "bxor", commutative: true, loops: bitwise(bxor[uint64], bxor[uint8])}

	// MaxLoc and MinLoc are defined for pairs: the larger or smaller value and its
	// index; for equal values, the lower index (MPI-4.1, 6.9.4). For MaxLoc, NaN is
	// larger than all numbers, for MinLoc smaller.
	MaxLoc = &Op{name: "maxloc", commutative: true, loops: located(true)}
	MinLoc = &Op{name: "minloc", commutative: true, loops: located(false)}

	// Replace returns in, NoOp leaves inout unchanged. Both are for accumulating
	// (MPI-4.1, 12.3.4) and defined for every type.
	Replace = &Op{name: "replace", fn: func(in, inout []byte, _ *datatype.Type, _ int) { copy(inout, in) }}
	NoOp    = &Op{name: "no-op", fn: func(_, _ []byte, _ *datatype.Type, _ int) {}}
)

// Predefined lists all of them.
var Predefined = []*Op{
	Sum, Prod, Max, Min, LAnd, LOr, LXor, BAnd, BOr, BXor, MaxLoc, MinLoc, Replace, NoOp,
}

// The groups of kinds in the table of MPI-4.1, 6.9.2, as far as Go has no kind of their own.
var (
	integersOfC       = []datatype.Kind{datatype.KindLong, datatype.KindUlong}
	integersOfFortran = []datatype.Kind{datatype.KindInteger1, datatype.KindInteger2, datatype.KindInteger4, datatype.KindInteger8}
	multiLanguage     = []datatype.Kind{datatype.KindAint, datatype.KindCount, datatype.KindOffset}
	logicals          = []datatype.Kind{datatype.KindLogical1, datatype.KindLogical2, datatype.KindLogical4, datatype.KindLogical8}
)

// with adds kinds. Each gets the loop of the kind with the same representation (Kind.Like).
func (l *loops) with(groups ...[]datatype.Kind) *loops {
	for _, g := range groups {
		for _, k := range g {
			l[k] = l[k.Like()]
		}
	}
	return l
}

func sums() *loops {
	s8 := inWords(1, sumLanes8, each(sum[uint8]), 1)
	s16 := inWords(2, sumLanes16, each(sum[uint16]), 2)
	return (&loops{
		datatype.KindInt8: s8, datatype.KindUint8: s8,
		datatype.KindInt16: s16, datatype.KindUint16: s16,
		datatype.KindInt32: each(sum[int32]), datatype.KindUint32: each(sum[uint32]),
		datatype.KindInt64: each(sum[int64]), datatype.KindUint64: each(sum[uint64]),
		datatype.KindFloat32: each(sum[float32]), datatype.KindFloat64: each(sum[float64]),
		datatype.KindComplex64: each(sum[complex64]), datatype.KindComplex128: each(sum[complex128]),
		datatype.KindInteger16: each(sumSoft[number.Int128]),
		datatype.KindFloat16:   each(sumSoft[number.Float16]), datatype.KindFloat128: each(sumSoft[number.Float128]),
		datatype.KindLongDouble: each(sumSoft[number.LongDouble]),
		datatype.KindComplex32:  each(sumSoft[number.Complex[number.Float16]]), datatype.KindComplex256: each(sumSoft[number.Complex[number.Float128]]),
		datatype.KindLongDoubleComplex: each(sumSoft[number.Complex[number.LongDouble]]),
	}).with(integersOfC, integersOfFortran, multiLanguage)
}

func prods() *loops {
	return (&loops{
		datatype.KindInt8: each(prod[int8]), datatype.KindUint8: each(prod[uint8]),
		datatype.KindInt16: each(prod[int16]), datatype.KindUint16: each(prod[uint16]),
		datatype.KindInt32: each(prod[int32]), datatype.KindUint32: each(prod[uint32]),
		datatype.KindInt64: each(prod[int64]), datatype.KindUint64: each(prod[uint64]),
		datatype.KindFloat32: each(prod[float32]), datatype.KindFloat64: each(prod[float64]),
		datatype.KindComplex64: each(prod[complex64]), datatype.KindComplex128: each(prod[complex128]),
		datatype.KindInteger16: each(prodSoft[number.Int128]),
		datatype.KindFloat16:   each(prodSoft[number.Float16]), datatype.KindFloat128: each(prodSoft[number.Float128]),
		datatype.KindLongDouble: each(prodSoft[number.LongDouble]),
		datatype.KindComplex32:  each(prodSoft[number.Complex[number.Float16]]), datatype.KindComplex256: each(prodSoft[number.Complex[number.Float128]]),
		datatype.KindLongDoubleComplex: each(prodSoft[number.Complex[number.LongDouble]]),
	}).with(integersOfC, integersOfFortran, multiLanguage)
}

func maxima() *loops {
	return (&loops{
		datatype.KindInt8: each(larger[int8]), datatype.KindUint8: each(larger[uint8]),
		datatype.KindInt16: each(larger[int16]), datatype.KindUint16: each(larger[uint16]),
		datatype.KindInt32: each(larger[int32]), datatype.KindUint32: each(larger[uint32]),
		datatype.KindInt64: each(larger[int64]), datatype.KindUint64: each(larger[uint64]),
		datatype.KindFloat32: each(larger[float32]), datatype.KindFloat64: each(larger[float64]),
		datatype.KindInteger16: each(largerSoft[number.Int128]),
		datatype.KindFloat16:   each(largerSoft[number.Float16]), datatype.KindFloat128: each(largerSoft[number.Float128]),
		datatype.KindLongDouble: each(largerSoft[number.LongDouble]),
	}).with(integersOfC, integersOfFortran, multiLanguage)
}

func minima() *loops {
	return (&loops{
		datatype.KindInt8: each(smaller[int8]), datatype.KindUint8: each(smaller[uint8]),
		datatype.KindInt16: each(smaller[int16]), datatype.KindUint16: each(smaller[uint16]),
		datatype.KindInt32: each(smaller[int32]), datatype.KindUint32: each(smaller[uint32]),
		datatype.KindInt64: each(smaller[int64]), datatype.KindUint64: each(smaller[uint64]),
		datatype.KindFloat32: each(smaller[float32]), datatype.KindFloat64: each(smaller[float64]),
		datatype.KindInteger16: each(smallerSoft[number.Int128]),
		datatype.KindFloat16:   each(smallerSoft[number.Float16]), datatype.KindFloat128: each(smallerSoft[number.Float128]),
		datatype.KindLongDouble: each(smallerSoft[number.LongDouble]),
	}).with(integersOfC, integersOfFortran, multiLanguage)
}

// logical takes a loop for each width; the sign of a number does not matter for
// whether it is 0.
func logical(b8, b16, b32, b64, b128 loop) *loops {
	return (&loops{
		datatype.KindBool: b8,
		datatype.KindInt8: b8, datatype.KindUint8: b8,
		datatype.KindInt16: b16, datatype.KindUint16: b16,
		datatype.KindInt32: b32, datatype.KindUint32: b32,
		datatype.KindInt64: b64, datatype.KindUint64: b64,
		datatype.KindLogical16: b128,
	}).with(integersOfC, logicals)
}

// bitwise works on whole words for elements of every kind.
func bitwise(words func(inout, in []uint64), rest func(inout, in []uint8)) *loops {
	b := each(rest)
	b8, b16, b32, b64, b128 := inWords(1, words, b, 1), inWords(2, words, b, 1), inWords(4, words, b, 1), each(words), inWords(16, words, b, 1)
	return (&loops{
		datatype.KindByte: b8,
		datatype.KindInt8: b8, datatype.KindUint8: b8,
		datatype.KindInt16: b16, datatype.KindUint16: b16,
		datatype.KindInt32: b32, datatype.KindUint32: b32,
		datatype.KindInt64: b64, datatype.KindUint64: b64,
		datatype.KindInteger16: b128,
	}).with(integersOfC, integersOfFortran, multiLanguage)
}

func located(largest bool) *loops {
	return &loops{
		datatype.KindInt16Int32:   pairs[int16, int32](largest),
		datatype.KindInt32Int32:   pairs[int32, int32](largest),
		datatype.KindInt64Int32:   pairs[int64, int32](largest),
		datatype.KindFloat32Int32: pairs[float32, int32](largest),
		datatype.KindFloat64Int32: pairs[float64, int32](largest),
		datatype.KindInt16Int64:   pairs[int16, int64](largest),
		datatype.KindInt32Int64:   pairs[int32, int64](largest),
		datatype.KindInt64Int64:   pairs[int64, int64](largest),
		datatype.KindFloat32Int64: pairs[float32, int64](largest),
		datatype.KindFloat64Int64: pairs[float64, int64](largest),

		datatype.KindLongInt32:        pairs[int64, int32](largest),
		datatype.KindLongDoubleInt32:  pairsBy[number.LongDouble, int32](beatsSoft[number.LongDouble](largest)),
		datatype.KindFloat32Float32:   pairs[float32, float32](largest),
		datatype.KindFloat64Float64:   pairs[float64, float64](largest),
		datatype.KindInteger4Integer4: pairs[int32, int32](largest),
	}
}
