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

	// Those of C and Fortran that Go's do not stand for: they have other operators (MPI-4.1, 6.9.2), or
	// another size in external32. Their numbers are behind those of Go's because they travel in
	// messages of one-sided communication.

	KindChar              // char
	KindWchar             // wchar
	KindPacked            // packed
	KindLong              // long
	KindUlong             // unsigned long
	KindAint              // aint
	KindCount             // count
	KindOffset            // offset
	KindInteger1          // integer1
	KindInteger2          // integer2
	KindInteger4          // integer4
	KindInteger8          // integer8
	KindInteger16         // integer16
	KindLogical1          // logical1
	KindLogical2          // logical2
	KindLogical4          // logical4
	KindLogical8          // logical8
	KindLogical16         // logical16
	KindFloat16           // float16
	KindFloat128          // float128
	KindLongDouble        // long double
	KindComplex32         // complex32
	KindComplex256        // complex256
	KindLongDoubleComplex // long double complex
	KindLongInt32         // (long, int32)
	KindLongDoubleInt32   // (long double, int32)
	KindFloat32Float32    // (float32, float32)
	KindFloat64Float64    // (float64, float64)
	KindInteger4Integer4  // (integer4, integer4)
	kindEnd
)

// Kinds is the number of kinds, KindNone among them.
const Kinds = int(kindEnd)

// kindTraits are the properties of a kind.
type kindTraits struct {
	size         int   // packed bytes of a leaf
	units        units // of a scalar
	align        int   // of a scalar, as C lays it out on 64-bit machines
	like         Kind  // of Go, with the same memory and arithmetic, if there is one
	value, index Kind  // of a pair
}

var kinds = [kindEnd]kindTraits{
	KindByte:       {size: 1, units: units{1, 1}, align: 1},
	KindBool:       {size: 1, units: units{1, 1}, align: 1},
	KindInt8:       {size: 1, units: units{1, 1}, align: 1},
	KindInt16:      {size: 2, units: units{2, 2}, align: 2},
	KindInt32:      {size: 4, units: units{4, 4}, align: 4},
	KindInt64:      {size: 8, units: units{8, 8}, align: 8},
	KindUint8:      {size: 1, units: units{1, 1}, align: 1},
	KindUint16:     {size: 2, units: units{2, 2}, align: 2},
	KindUint32:     {size: 4, units: units{4, 4}, align: 4},
	KindUint64:     {size: 8, units: units{8, 8}, align: 8},
	KindFloat32:    {size: 4, units: units{4, 4}, align: 4},
	KindFloat64:    {size: 8, units: units{8, 8}, align: 8},
	KindComplex64:  {size: 8, units: units{8, 4}, align: 4},
	KindComplex128: {size: 16, units: units{16, 8}, align: 8},

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

	KindChar:   {size: 1, units: units{1, 1}, align: 1},
	KindWchar:  {size: 4, units: units{4, 4}, align: 4},
	KindPacked: {size: 1, units: units{1, 1}, align: 1},
	KindLong:   {size: 8, units: units{8, 8}, align: 8, like: KindInt64},
	KindUlong:  {size: 8, units: units{8, 8}, align: 8, like: KindUint64},
	KindAint:   {size: 8, units: units{8, 8}, align: 8, like: KindInt64},
	KindCount:  {size: 8, units: units{8, 8}, align: 8, like: KindInt64},
	KindOffset: {size: 8, units: units{8, 8}, align: 8, like: KindInt64},

	KindInteger1:  {size: 1, units: units{1, 1}, align: 1, like: KindInt8},
	KindInteger2:  {size: 2, units: units{2, 2}, align: 2, like: KindInt16},
	KindInteger4:  {size: 4, units: units{4, 4}, align: 4, like: KindInt32},
	KindInteger8:  {size: 8, units: units{8, 8}, align: 8, like: KindInt64},
	KindInteger16: {size: 16, units: units{16, 16}, align: 16},
	KindLogical1:  {size: 1, units: units{1, 1}, align: 1, like: KindUint8},
	KindLogical2:  {size: 2, units: units{2, 2}, align: 2, like: KindUint16},
	KindLogical4:  {size: 4, units: units{4, 4}, align: 4, like: KindUint32},
	KindLogical8:  {size: 8, units: units{8, 8}, align: 8, like: KindUint64},
	KindLogical16: {size: 16, units: units{16, 16}, align: 16},

	KindFloat16:           {size: 2, units: units{2, 2}, align: 2},
	KindFloat128:          {size: 16, units: units{16, 16}, align: 16},
	KindLongDouble:        {size: 16, units: units{16, 16}, align: 16},
	KindComplex32:         {size: 4, units: units{4, 2}, align: 2},
	KindComplex256:        {size: 32, units: units{32, 16}, align: 16},
	KindLongDoubleComplex: {size: 32, units: units{32, 16}, align: 16},

	KindLongInt32:        {size: 12, value: KindLong, index: KindInt32},
	KindLongDoubleInt32:  {size: 20, value: KindLongDouble, index: KindInt32},
	KindFloat32Float32:   {size: 8, value: KindFloat32, index: KindFloat32},
	KindFloat64Float64:   {size: 16, value: KindFloat64, index: KindFloat64},
	KindInteger4Integer4: {size: 8, value: KindInteger4, index: KindInteger4},
}

// Size returns the packed size of a leaf in bytes, 0 for KindNone. A packed pair has no padding
// between its value and its index, even if it has some in memory.
func (k Kind) Size() int {
	if k >= kindEnd {
		return 0
	}
	return kinds[k].size
}

// Like returns the kind of Go's numbers with the same memory and arithmetic: k itself if it is one of
// them, or if there is none.
func (k Kind) Like() Kind {
	if k >= kindEnd || kinds[k].like == KindNone {
		return k
	}
	return kinds[k].like
}

// Pair returns the kinds of the value and of the index, if k is a pair.
func (k Kind) Pair() (value, index Kind, ok bool) {
	if k >= kindEnd || kinds[k].value == KindNone {
		return KindNone, KindNone, false
	}
	return kinds[k].value, kinds[k].index, true
}
