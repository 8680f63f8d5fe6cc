package datatype

//go:generate go tool stringer -type=Kind -linecomment -output=kind_string.go

// A Kind is the kind of a type's leaves, if all are of one kind. Reductions choose their loops by
// it.
type Kind uint8

// Kinds. Go's int, uint and uintptr have the kinds of 64 bits. A pair is one leaf: a value and,
// packed right behind it, an index, for MINLOC and MAXLOC (MPI-4.1, 6.9.4).
const (
	KindNone         Kind = iota // none
	KindByte                     // byte
	KindBool                     // bool
	KindInt8                     // int8
	KindInt16                    // int16
	KindInt32                    // int32
	KindInt64                    // int64
	KindUint8                    // uint8
	KindUint16                   // uint16
	KindUint32                   // uint32
	KindUint64                   // uint64
	KindFloat32                  // float32
	KindFloat64                  // float64
	KindComplex64                // complex64
	KindComplex128               // complex128
	KindInt16Int32               // (int16, int32)
	KindInt32Int32               // (int32, int32)
	KindInt64Int32               // (int64, int32)
	KindFloat32Int32             // (float32, int32)
	KindFloat64Int32             // (float64, int32)
	KindInt16Int64               // (int16, int64)
	KindInt32Int64               // (int32, int64)
	KindInt64Int64               // (int64, int64)
	KindFloat32Int64             // (float32, int64)
	KindFloat64Int64             // (float64, int64)
	kindEnd
)

// kindTraits are the properties of a kind.
type kindTraits struct {
	size         int   // packed bytes of a leaf
	grain        grain // of a scalar
	align        int   // of a scalar, as Go lays it out on 64-bit machines
	value, index Kind  // of a pair
}

var kinds = [kindEnd]kindTraits{
	KindByte:       {size: 1, grain: grain{1, 1}, align: 1},
	KindBool:       {size: 1, grain: grain{1, 1}, align: 1},
	KindInt8:       {size: 1, grain: grain{1, 1}, align: 1},
	KindInt16:      {size: 2, grain: grain{2, 2}, align: 2},
	KindInt32:      {size: 4, grain: grain{4, 4}, align: 4},
	KindInt64:      {size: 8, grain: grain{8, 8}, align: 8},
	KindUint8:      {size: 1, grain: grain{1, 1}, align: 1},
	KindUint16:     {size: 2, grain: grain{2, 2}, align: 2},
	KindUint32:     {size: 4, grain: grain{4, 4}, align: 4},
	KindUint64:     {size: 8, grain: grain{8, 8}, align: 8},
	KindFloat32:    {size: 4, grain: grain{4, 4}, align: 4},
	KindFloat64:    {size: 8, grain: grain{8, 8}, align: 8},
	KindComplex64:  {size: 8, grain: grain{8, 4}, align: 4},
	KindComplex128: {size: 16, grain: grain{16, 8}, align: 8},

	KindInt16Int32:   {size: 6, value: KindInt16, index: KindInt32},
	KindInt32Int32:   {size: 8, value: KindInt32, index: KindInt32},
	KindInt64Int32:   {size: 12, value: KindInt64, index: KindInt32},
	KindFloat32Int32: {size: 8, value: KindFloat32, index: KindInt32},
	KindFloat64Int32: {size: 12, value: KindFloat64, index: KindInt32},
	KindInt16Int64:   {size: 10, value: KindInt16, index: KindInt64},
	KindInt32Int64:   {size: 12, value: KindInt32, index: KindInt64},
	KindInt64Int64:   {size: 16, value: KindInt64, index: KindInt64},
	KindFloat32Int64: {size: 12, value: KindFloat32, index: KindInt64},
	KindFloat64Int64: {size: 16, value: KindFloat64, index: KindInt64},
}

// Size returns the packed size of a leaf in bytes, 0 for KindNone. A packed pair has no padding
// between its value and its index, even if it has some in memory.
func (k Kind) Size() int {
	if k >= kindEnd {
		return 0
	}
	return kinds[k].size
}

// Pair returns the kinds of the value and of the index, if k is a pair.
func (k Kind) Pair() (value, index Kind, ok bool) {
	if k >= kindEnd || kinds[k].value == KindNone {
		return KindNone, KindNone, false
	}
	return kinds[k].value, kinds[k].index, true
}
