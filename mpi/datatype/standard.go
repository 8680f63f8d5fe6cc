package datatype

// A Standard is a predefined type of the standard (MPI-4.1, 3.2.2, 6.9.4 and 14.5.2).
type Standard struct {
	Name string // as in C
	Type *Type
	// Note says what the type is beyond its name, if anything.
	Note string
}

// Standards are all named types of MPI-4.1, the optional ones among them, in its order, and behind
// them the logicals with a size, which the standard has from version 5 on. Types of Fortran are those
// of gfortran without options. Types with the same memory, operators and external32 are one Type.
var Standards = []Standard{
	{Name: "MPI_CHAR", Type: Char},
	{Name: "MPI_SHORT", Type: Int16},
	{Name: "MPI_INT", Type: Int32},
	{Name: "MPI_LONG", Type: Long, Note: "Go's `int` and `int64` are `MPI_INT64_T`"},
	{Name: "MPI_LONG_LONG_INT", Type: Int64},
	{Name: "MPI_LONG_LONG", Type: Int64},
	{Name: "MPI_SIGNED_CHAR", Type: Int8},
	{Name: "MPI_UNSIGNED_CHAR", Type: Uint8},
	{Name: "MPI_UNSIGNED_SHORT", Type: Uint16},
	{Name: "MPI_UNSIGNED", Type: Uint32},
	{Name: "MPI_UNSIGNED_LONG", Type: Ulong},
	{Name: "MPI_UNSIGNED_LONG_LONG", Type: Uint64},
	{Name: "MPI_FLOAT", Type: Float32},
	{Name: "MPI_DOUBLE", Type: Float64},
	{Name: "MPI_LONG_DOUBLE", Type: LongDouble, Note: "amd64: the x87's format; arm64: binary128"},
	{Name: "MPI_WCHAR", Type: Wchar},
	{Name: "MPI_C_BOOL", Type: Bool},
	{Name: "MPI_INT8_T", Type: Int8},
	{Name: "MPI_INT16_T", Type: Int16},
	{Name: "MPI_INT32_T", Type: Int32},
	{Name: "MPI_INT64_T", Type: Int64},
	{Name: "MPI_UINT8_T", Type: Uint8},
	{Name: "MPI_UINT16_T", Type: Uint16},
	{Name: "MPI_UINT32_T", Type: Uint32},
	{Name: "MPI_UINT64_T", Type: Uint64},
	{Name: "MPI_AINT", Type: Aint},
	{Name: "MPI_COUNT", Type: Count},
	{Name: "MPI_OFFSET", Type: Offset},
	{Name: "MPI_C_COMPLEX", Type: Complex64},
	{Name: "MPI_C_FLOAT_COMPLEX", Type: Complex64},
	{Name: "MPI_C_DOUBLE_COMPLEX", Type: Complex128},
	{Name: "MPI_C_LONG_DOUBLE_COMPLEX", Type: LongDoubleComplex},
	{Name: "MPI_BYTE", Type: Byte},
	{Name: "MPI_PACKED", Type: Packed},
	{Name: "MPI_INTEGER", Type: Integer4},
	{Name: "MPI_REAL", Type: Float32},
	{Name: "MPI_DOUBLE_PRECISION", Type: Float64},
	{Name: "MPI_COMPLEX", Type: Complex64},
	{Name: "MPI_LOGICAL", Type: Logical4},
	{Name: "MPI_CHARACTER", Type: Char},
	{Name: "MPI_CXX_BOOL", Type: Bool},
	{Name: "MPI_CXX_FLOAT_COMPLEX", Type: Complex64},
	{Name: "MPI_CXX_DOUBLE_COMPLEX", Type: Complex128},
	{Name: "MPI_CXX_LONG_DOUBLE_COMPLEX", Type: LongDoubleComplex},
	{Name: "MPI_DOUBLE_COMPLEX", Type: Complex128},
	{Name: "MPI_INTEGER1", Type: Integer1},
	{Name: "MPI_INTEGER2", Type: Integer2},
	{Name: "MPI_INTEGER4", Type: Integer4},
	{Name: "MPI_INTEGER8", Type: Integer8},
	{Name: "MPI_INTEGER16", Type: Integer16},
	{Name: "MPI_REAL2", Type: Float16, Note: "C's `_Float16`; gfortran has no such kind"},
	{Name: "MPI_REAL4", Type: Float32},
	{Name: "MPI_REAL8", Type: Float64},
	{Name: "MPI_REAL16", Type: Float128},
	{Name: "MPI_COMPLEX4", Type: Complex32, Note: "gfortran has no such kind"},
	{Name: "MPI_COMPLEX8", Type: Complex64},
	{Name: "MPI_COMPLEX16", Type: Complex128},
	{Name: "MPI_COMPLEX32", Type: Complex256},
	{Name: "MPI_FLOAT_INT", Type: Float32Int32},
	{Name: "MPI_DOUBLE_INT", Type: Float64Int32},
	{Name: "MPI_LONG_INT", Type: LongInt32},
	{Name: "MPI_2INT", Type: Int32Int32},
	{Name: "MPI_SHORT_INT", Type: Int16Int32},
	{Name: "MPI_LONG_DOUBLE_INT", Type: LongDoubleInt32},
	{Name: "MPI_2REAL", Type: Float32Float32},
	{Name: "MPI_2DOUBLE_PRECISION", Type: Float64Float64},
	{Name: "MPI_2INTEGER", Type: Integer4Integer4},
	{Name: "MPI_LOGICAL1", Type: Logical1},
	{Name: "MPI_LOGICAL2", Type: Logical2},
	{Name: "MPI_LOGICAL4", Type: Logical4},
	{Name: "MPI_LOGICAL8", Type: Logical8},
	{Name: "MPI_LOGICAL16", Type: Logical16},
}

// ByKind returns the predefined type of a kind, nil if there is none.
func ByKind(k Kind) *Type {
	if k >= kindEnd {
		return nil
	}
	return byKind[k]
}

var byKind = func() (all [kindEnd]*Type) {
	for _, s := range Standards {
		all[s.Type.Kind()] = s.Type
	}
	for _, t := range valueIndexes {
		all[t.Kind()] = t
	}
	return all
}()
