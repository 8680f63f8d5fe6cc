package datatype

import "github.com/viaduct-hpc/viaduct/mpi/number"

// The predefined types (MPI-4.1, 3.2.2) of Go's scalars. Byte is uninterpreted bytes: without
// arithmetic, and never byte-swapped. Int, Uint and Uintptr have 64 bits.
var (
	Byte       = predefined("byte", KindByte)
	Bool       = predefined("bool", KindBool)
	Int8       = predefined("int8", KindInt8)
	Int16      = predefined("int16", KindInt16)
	Int32      = predefined("int32", KindInt32)
	Int64      = predefined("int64", KindInt64)
	Int        = predefined("int", KindInt64)
	Uint8      = predefined("uint8", KindUint8)
	Uint16     = predefined("uint16", KindUint16)
	Uint32     = predefined("uint32", KindUint32)
	Uint64     = predefined("uint64", KindUint64)
	Uint       = predefined("uint", KindUint64)
	Uintptr    = predefined("uintptr", KindUint64)
	Float32    = predefined("float32", KindFloat32)
	Float64    = predefined("float64", KindFloat64)
	Complex64  = predefined("complex64", KindComplex64)
	Complex128 = predefined("complex128", KindComplex128)
)

// The predefined types of C and Fortran that Go's do not stand for. Standards lists all by their
// names there. Package mpi/number has the numbers that Go lacks; the types of long double, complex
// numbers of them and so on are those that Of returns for them.
//
// Long, Aint, Count and Offset are int64 in memory, and Ulong is uint64. Wchar is int32, the logicals
// are integers of their size, of which 0 is false, and Char and Packed are bytes.
var (
	Char   = predefined("char", KindChar)
	Wchar  = predefined("wchar", KindWchar)
	Packed = predefined("packed", KindPacked)
	Long   = predefined("long", KindLong)
	Ulong  = predefined("unsigned long", KindUlong)
	Aint   = predefined("aint", KindAint)
	Count  = predefined("count", KindCount)
	Offset = predefined("offset", KindOffset)

	Integer1  = predefined("integer1", KindInteger1)
	Integer2  = predefined("integer2", KindInteger2)
	Integer4  = predefined("integer4", KindInteger4)
	Integer8  = predefined("integer8", KindInteger8)
	Integer16 = predefined("integer16", KindInteger16) // number.Int128
	Logical1  = predefined("logical1", KindLogical1)
	Logical2  = predefined("logical2", KindLogical2)
	Logical4  = predefined("logical4", KindLogical4)
	Logical8  = predefined("logical8", KindLogical8)
	Logical16 = predefined("logical16", KindLogical16)

	Float16           = predefined("float16", KindFloat16)
	Float128          = predefined("float128", KindFloat128)
	LongDouble        = predefined("long double", KindLongDouble)
	Complex32         = predefined("complex32", KindComplex32)   // of two Float16
	Complex256        = predefined("complex256", KindComplex256) // of two Float128
	LongDoubleComplex = predefined("long double complex", KindLongDoubleComplex)
)

// A Pair is a value and an index, for the operators MINLOC and MAXLOC (MPI-4.1, 6.9.4). Of returns
// the predefined types for it.
type Pair[V int16 | int32 | int64 | int | float32 | float64 | number.LongDouble, I int32 | int64 | int | float32 | float64] struct {
	Value V
	Index I
}

// The predefined pairs, laid out in memory as Pair is, and as a structure of C. Only LongDoubleInt32
// has another extent, 32 bytes as in C; the type that Of returns for this Pair has Go's, 24 bytes.
var (
	Int16Int32   = pair("int16,int32", KindInt16Int32)
	Int32Int32   = pair("int32,int32", KindInt32Int32)
	Int64Int32   = pair("int64,int32", KindInt64Int32)
	Float32Int32 = pair("float32,int32", KindFloat32Int32)
	Float64Int32 = pair("float64,int32", KindFloat64Int32)
	Int16Int64   = pair("int16,int64", KindInt16Int64)
	Int32Int64   = pair("int32,int64", KindInt32Int64)
	Int64Int64   = pair("int64,int64", KindInt64Int64)
	Float32Int64 = pair("float32,int64", KindFloat32Int64)
	Float64Int64 = pair("float64,int64", KindFloat64Int64)

	LongInt32        = pair("long,int32", KindLongInt32)
	LongDoubleInt32  = pair("long double,int32", KindLongDoubleInt32)
	Float32Float32   = pair("float32,float32", KindFloat32Float32)
	Float64Float64   = pair("float64,float64", KindFloat64Float64)
	Integer4Integer4 = pair("integer4,integer4", KindInteger4Integer4)
)

// valueIndexes are the predefined pairs.
var valueIndexes = []*Type{
	Int16Int32, Int32Int32, Int64Int32, Float32Int32, Float64Int32,
	Int16Int64, Int32Int64, Int64Int64, Float32Int64, Float64Int64,
	LongInt32, LongDoubleInt32, Float32Float32, Float64Float64, Integer4Integer4,
}

// ValueIndex returns the predefined pair of a value and an index of two types, or nil if there is none
// (MPI_Type_get_value_index; MPI-4.1, 6.9.4).
func ValueIndex(value, index *Type) *Type {
	if value == nil || index == nil {
		return nil
	}
	for _, t := range valueIndexes {
		if v, i, _ := t.Kind().Pair(); v == value.Kind() && i == index.Kind() {
			return t
		}
	}
	return nil
}

func predefined(name string, k Kind) *Type { return named(name, scalar(k)) }

// pair lays out value and index as C does: each at a multiple of its alignment.
func pair(name string, k Kind) *Type {
	var c sums
	s := pairOf(&c, scalar(kinds[k].value), scalar(kinds[k].index))
	s.kind = k
	return named(name, s)
}

// pairOf returns one leaf of a value and an index.
func pairOf(c *sums, value, index shape) shape {
	at := (value.size + index.align - 1) / index.align * index.align
	l := newCollector(c, true)
	l.add(value)
	l.add(index.shift(c, at))
	s := l.done()
	s.leaves = 1
	return s
}

func named(name string, s shape) *Type {
	t, err := newType(s, new(sums), Contents{})
	if err != nil {
		panic("datatype: a predefined type overflows")
	}
	t.name = name
	return t
}
