package reduce_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// groups are those of MPI-4.1, 6.9.2, and the pairs of 6.9.4. Types that are in no group have no
// operators but Replace and NoOp.
var groups = map[string][]string{
	"C integer": {
		"MPI_INT", "MPI_LONG", "MPI_SHORT", "MPI_UNSIGNED_SHORT", "MPI_UNSIGNED", "MPI_UNSIGNED_LONG", "MPI_LONG_LONG_INT", "MPI_LONG_LONG",
		"MPI_UNSIGNED_LONG_LONG", "MPI_SIGNED_CHAR", "MPI_UNSIGNED_CHAR", "MPI_INT8_T", "MPI_INT16_T", "MPI_INT32_T", "MPI_INT64_T",
		"MPI_UINT8_T", "MPI_UINT16_T", "MPI_UINT32_T", "MPI_UINT64_T",
	},
	"Fortran integer": {"MPI_INTEGER", "MPI_INTEGER1", "MPI_INTEGER2", "MPI_INTEGER4", "MPI_INTEGER8", "MPI_INTEGER16"},
	"floating point": {
		"MPI_FLOAT", "MPI_DOUBLE", "MPI_REAL", "MPI_DOUBLE_PRECISION", "MPI_LONG_DOUBLE", "MPI_REAL2", "MPI_REAL4", "MPI_REAL8", "MPI_REAL16",
	},
	"logical": {"MPI_LOGICAL", "MPI_C_BOOL", "MPI_CXX_BOOL", "MPI_LOGICAL1", "MPI_LOGICAL2", "MPI_LOGICAL4", "MPI_LOGICAL8", "MPI_LOGICAL16"},
	"complex": {
		"MPI_COMPLEX", "MPI_C_COMPLEX", "MPI_C_FLOAT_COMPLEX", "MPI_C_DOUBLE_COMPLEX", "MPI_C_LONG_DOUBLE_COMPLEX", "MPI_CXX_FLOAT_COMPLEX",
		"MPI_CXX_DOUBLE_COMPLEX", "MPI_CXX_LONG_DOUBLE_COMPLEX", "MPI_DOUBLE_COMPLEX", "MPI_COMPLEX4", "MPI_COMPLEX8", "MPI_COMPLEX16",
		"MPI_COMPLEX32",
	},
	"byte":           {"MPI_BYTE"},
	"multi-language": {"MPI_AINT", "MPI_OFFSET", "MPI_COUNT"},
	"pair": {
		"MPI_FLOAT_INT", "MPI_DOUBLE_INT", "MPI_LONG_INT", "MPI_2INT", "MPI_SHORT_INT", "MPI_LONG_DOUBLE_INT", "MPI_2REAL",
		"MPI_2DOUBLE_PRECISION", "MPI_2INTEGER",
	},
	"none": {"MPI_CHAR", "MPI_WCHAR", "MPI_CHARACTER", "MPI_PACKED"},
}

// allowed are the groups of each operator.
var allowed = map[*reduce.Op][]string{
	reduce.Max:  {"C integer", "Fortran integer", "floating point", "multi-language"},
	reduce.Min:  {"C integer", "Fortran integer", "floating point", "multi-language"},
	reduce.Sum:  {"C integer", "Fortran integer", "floating point", "complex", "multi-language"},
	reduce.Prod: {"C integer", "Fortran integer", "floating point", "complex", "multi-language"},
	reduce.LAnd: {"C integer", "logical"}, reduce.LOr: {"C integer", "logical"}, reduce.LXor: {"C integer", "logical"},
	reduce.BAnd:   {"C integer", "Fortran integer", "byte", "multi-language"},
	reduce.BOr:    {"C integer", "Fortran integer", "byte", "multi-language"},
	reduce.BXor:   {"C integer", "Fortran integer", "byte", "multi-language"},
	reduce.MaxLoc: {"pair"}, reduce.MinLoc: {"pair"},
	reduce.Replace: {"C integer", "Fortran integer", "floating point", "logical", "complex", "byte", "multi-language", "pair", "none"},
	reduce.NoOp:    {"C integer", "Fortran integer", "floating point", "logical", "complex", "byte", "multi-language", "pair", "none"},
}

// TestStandardOperators is the table of the standard: each operator on each named type.
func TestStandardOperators(t *testing.T) {
	groupOf := make(map[string]string)
	for g, names := range groups {
		for _, n := range names {
			require.Empty(t, groupOf[n], n)
			groupOf[n] = g
		}
	}
	require.Len(t, groupOf, len(datatype.Standards))
	require.Len(t, allowed, len(reduce.Predefined))
	for _, op := range reduce.Predefined {
		may := make(map[string]bool)
		for _, g := range allowed[op] {
			may[g] = true
		}
		for _, s := range datatype.Standards {
			g := groupOf[s.Name]
			require.NotEmpty(t, g, s.Name)
			assert.Equal(t, may[g], op.ValidFor(s.Type) == nil, "%v of %s", op, s.Name)
		}
	}
}
