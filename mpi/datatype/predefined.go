package datatype

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

// A Pair is a value and an index, for the operators MINLOC and MAXLOC (MPI-4.1, 6.9.4). Of returns
// the predefined types for it.
type Pair[V int16 | int32 | int64 | int | float32 | float64, I int32 | int64 | int] struct {
	Value V
	Index I
}

// The predefined pairs, laid out in memory as Pair is.
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
)

// ValueIndex returns the predefined pair of a value and an index of two types, or nil if there is none
// (MPI_Type_get_value_index; MPI-4.1, 6.9.4).
func ValueIndex(value, index *Type) *Type {
	if value == nil || index == nil {
		return nil
	}
	for _, t := range []*Type{
		Int16Int32, Int32Int32, Int64Int32, Float32Int32, Float64Int32,
		Int16Int64, Int32Int64, Int64Int64, Float32Int64, Float64Int64,
	} {
		if v, i, _ := t.Kind().Pair(); v == value.Kind() && i == index.Kind() {
			return t
		}
	}
	return nil
}

func predefined(name string, k Kind) *Type { return named(name, scalar(k)) }

// pair lays out value and index as Go does: each at a multiple of its alignment.
func pair(name string, k Kind) *Type {
	tr := kinds[k]
	index := scalar(tr.index)
	at := (kinds[tr.value].size + index.align - 1) / index.align * index.align
	var c sums
	l := newCollector(&c, true)
	l.add(scalar(tr.value))
	l.add(index.shift(&c, at))
	s := l.done()
	s.kind, s.leaves = k, 1
	return named(name, s)
}

func named(name string, s shape) *Type {
	t, err := newType(s, new(sums), Contents{})
	if err != nil {
		panic("datatype: a predefined type overflows")
	}
	t.name = name
	return t
}
