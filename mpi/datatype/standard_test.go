package datatype_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// layouts are the named types of MPI-4.1 with the sizes and extents that C and gfortran have on amd64
// and arm64, and the sizes of external32 (14.5.2); of pairs those of their parts.
var layouts = []struct {
	name                   string
	size, extent, external int
	c                      string // the type in C, if it has one
}{
	{"MPI_CHAR", 1, 1, 1, "char"},
	{"MPI_SHORT", 2, 2, 2, "short"},
	{"MPI_INT", 4, 4, 4, "int"},
	{"MPI_LONG", 8, 8, 4, "long"},
	{"MPI_LONG_LONG_INT", 8, 8, 8, "long long"},
	{"MPI_LONG_LONG", 8, 8, 8, "long long"},
	{"MPI_SIGNED_CHAR", 1, 1, 1, "signed char"},
	{"MPI_UNSIGNED_CHAR", 1, 1, 1, "unsigned char"},
	{"MPI_UNSIGNED_SHORT", 2, 2, 2, "unsigned short"},
	{"MPI_UNSIGNED", 4, 4, 4, "unsigned"},
	{"MPI_UNSIGNED_LONG", 8, 8, 4, "unsigned long"},
	{"MPI_UNSIGNED_LONG_LONG", 8, 8, 8, "unsigned long long"},
	{"MPI_FLOAT", 4, 4, 4, "float"},
	{"MPI_DOUBLE", 8, 8, 8, "double"},
	{"MPI_LONG_DOUBLE", 16, 16, 16, "long double"},
	{"MPI_WCHAR", 4, 4, 2, "wchar_t"},
	{"MPI_C_BOOL", 1, 1, 1, "_Bool"},
	{"MPI_INT8_T", 1, 1, 1, "int8_t"},
	{"MPI_INT16_T", 2, 2, 2, "int16_t"},
	{"MPI_INT32_T", 4, 4, 4, "int32_t"},
	{"MPI_INT64_T", 8, 8, 8, "int64_t"},
	{"MPI_UINT8_T", 1, 1, 1, "uint8_t"},
	{"MPI_UINT16_T", 2, 2, 2, "uint16_t"},
	{"MPI_UINT32_T", 4, 4, 4, "uint32_t"},
	{"MPI_UINT64_T", 8, 8, 8, "uint64_t"},
	{"MPI_AINT", 8, 8, 8, "intptr_t"},
	{"MPI_COUNT", 8, 8, 8, "long long"},
	{"MPI_OFFSET", 8, 8, 8, "long long"},
	{"MPI_C_COMPLEX", 8, 8, 8, "float _Complex"},
	{"MPI_C_FLOAT_COMPLEX", 8, 8, 8, "float _Complex"},
	{"MPI_C_DOUBLE_COMPLEX", 16, 16, 16, "double _Complex"},
	{"MPI_C_LONG_DOUBLE_COMPLEX", 32, 32, 32, "long double _Complex"},
	{"MPI_BYTE", 1, 1, 1, "unsigned char"},
	{"MPI_PACKED", 1, 1, 1, ""},
	{"MPI_INTEGER", 4, 4, 4, ""},
	{"MPI_REAL", 4, 4, 4, ""},
	{"MPI_DOUBLE_PRECISION", 8, 8, 8, ""},
	{"MPI_COMPLEX", 8, 8, 8, ""},
	{"MPI_LOGICAL", 4, 4, 4, ""},
	{"MPI_CHARACTER", 1, 1, 1, ""},
	{"MPI_CXX_BOOL", 1, 1, 1, ""},
	{"MPI_CXX_FLOAT_COMPLEX", 8, 8, 8, ""},
	{"MPI_CXX_DOUBLE_COMPLEX", 16, 16, 16, ""},
	{"MPI_CXX_LONG_DOUBLE_COMPLEX", 32, 32, 32, ""},
	{"MPI_DOUBLE_COMPLEX", 16, 16, 16, ""},
	{"MPI_INTEGER1", 1, 1, 1, ""},
	{"MPI_INTEGER2", 2, 2, 2, ""},
	{"MPI_INTEGER4", 4, 4, 4, ""},
	{"MPI_INTEGER8", 8, 8, 8, ""},
	{"MPI_INTEGER16", 16, 16, 16, "__int128"},
	{"MPI_REAL2", 2, 2, 2, "_Float16"},
	{"MPI_REAL4", 4, 4, 4, ""},
	{"MPI_REAL8", 8, 8, 8, ""},
	{"MPI_REAL16", 16, 16, 16, "_Float128"},
	{"MPI_COMPLEX4", 4, 4, 4, "_Float16 _Complex"},
	{"MPI_COMPLEX8", 8, 8, 8, ""},
	{"MPI_COMPLEX16", 16, 16, 16, ""},
	{"MPI_COMPLEX32", 32, 32, 32, "_Float128 _Complex"},
	{"MPI_FLOAT_INT", 8, 8, 8, "struct { float v; int i; }"},
	{"MPI_DOUBLE_INT", 12, 16, 12, "struct { double v; int i; }"},
	{"MPI_LONG_INT", 12, 16, 8, "struct { long v; int i; }"},
	{"MPI_2INT", 8, 8, 8, "struct { int v; int i; }"},
	{"MPI_SHORT_INT", 6, 8, 6, "struct { short v; int i; }"},
	{"MPI_LONG_DOUBLE_INT", 20, 32, 20, "struct { long double v; int i; }"},
	{"MPI_2REAL", 8, 8, 8, "struct { float v; float i; }"},
	{"MPI_2DOUBLE_PRECISION", 16, 16, 16, "struct { double v; double i; }"},
	{"MPI_2INTEGER", 8, 8, 8, "struct { int v; int i; }"},
	{"MPI_LOGICAL1", 1, 1, 1, ""},
	{"MPI_LOGICAL2", 2, 2, 2, ""},
	{"MPI_LOGICAL4", 4, 4, 4, ""},
	{"MPI_LOGICAL8", 8, 8, 8, ""},
	{"MPI_LOGICAL16", 16, 16, 16, ""},
}

// alignment is that of a type: the extent of a structure is rounded up to it.
func alignment(t *testing.T, of *datatype.Type) int {
	s, err := datatype.Struct([]int{1, 1}, []int{0, 64}, []*datatype.Type{of, datatype.Byte})
	require.NoError(t, err)
	_, extent := s.Extent()
	return extent - 64
}

func TestStandards(t *testing.T) {
	require.Len(t, datatype.Standards, len(layouts))
	for i, want := range layouts {
		s := datatype.Standards[i]
		require.Equal(t, want.name, s.Name)
		_, extent := s.Type.Extent()
		external, err := s.Type.PackExternalSize(1)
		require.NoError(t, err)
		assert.Equal(t, []int{want.size, want.extent, want.external}, []int{s.Type.Size(), extent, external}, s.Name)
		assert.Same(t, s.Type, datatype.ByKind(s.Type.Kind()), s.Name)
		assert.Equal(t, datatype.CombinerNamed, s.Type.Contents().Combiner)
	}
	for k := range datatype.Kind(datatype.Kinds) {
		if k == datatype.KindNone {
			assert.Nil(t, datatype.ByKind(k))
			continue
		}
		require.NotNil(t, datatype.ByKind(k), "%v", k)
		assert.Equal(t, k, datatype.ByKind(k).Kind())
		assert.Equal(t, k.Size(), k.Like().Size(), "%v", k)
	}
	assert.Nil(t, datatype.ByKind(datatype.Kind(datatype.Kinds)))
	assert.EqualValues(t, 200, datatype.Kind(200).Like())
}

// TestLayoutOfC compares sizes, extents, and where indexes lie with C.
func TestLayoutOfC(t *testing.T) {
	cc := need.Program(t, "gcc")
	var program, want strings.Builder
	program.WriteString("#include <stdint.h>\n#include <stdio.h>\n#include <wchar.h>\n#include <stddef.h>\nint main(void) {\n")
	for i, l := range layouts {
		if l.c == "" {
			continue
		}
		of := datatype.Standards[i].Type
		_, part, isPair := of.Kind().Pair()
		index := 0
		if isPair {
			_, end := of.TrueExtent()
			index = end - part.Size()
		}
		fmt.Fprintf(&program, "{ typedef %s type; printf(\"%s %%zu %%zu %%zu\\n\", sizeof(type), _Alignof(type), (size_t)", l.c, l.name)
		if isPair {
			program.WriteString("offsetof(type, i)); }\n")
		} else {
			program.WriteString("0); }\n")
		}
		_, extent := of.Extent()
		fmt.Fprintf(&want, "%s %d %d %d\n", l.name, extent, alignment(t, of), index)
	}
	program.WriteString("}\n")
	dir := t.TempDir()
	source := filepath.Join(dir, "layout.c")
	require.NoError(t, os.WriteFile(source, []byte(program.String()), 0o600))
	if text, err := exec.CommandContext(t.Context(), cc, "-o", filepath.Join(dir, "layout"), source).CombinedOutput(); err != nil {
		t.Skipf("this gcc lacks one of the types: %s", text)
	}
	got, err := exec.CommandContext(t.Context(), filepath.Join(dir, "layout")).Output()
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(got))
}

// TestOfNumbers: Go's types for the numbers that it lacks.
func TestOfNumbers(t *testing.T) {
	is[number.Float16](t, datatype.Float16)
	is[number.Float128](t, datatype.Float128)
	is[number.LongDouble](t, datatype.LongDouble)
	is[number.Int128](t, datatype.Integer16)
	is[number.Complex[number.Float16]](t, datatype.Complex32)
	is[number.Complex[number.Float128]](t, datatype.Complex256)
	is[number.Complex[number.LongDouble]](t, datatype.LongDoubleComplex)
	is[datatype.Pair[float32, float32]](t, datatype.Float32Float32)
	is[datatype.Pair[float64, float64]](t, datatype.Float64Float64)

	type pair = datatype.Pair[number.LongDouble, int32]
	p, err := datatype.Of[pair]()
	require.NoError(t, err)
	assert.Equal(t, datatype.KindLongDoubleInt32, p.Kind())
	_, extent := p.Extent()
	assert.EqualValues(t, unsafe.Sizeof(pair{}), extent)
	assert.EqualValues(t, 16, unsafe.Offsetof(pair{}.Index))
}

func is[T any](t *testing.T, want *datatype.Type) {
	t.Helper()
	got, err := datatype.Of[T]()
	require.NoError(t, err)
	assert.Same(t, want, got)
	_, extent := want.Extent()
	assert.EqualValues(t, unsafe.Sizeof(*new(T)), extent)
}

func TestF90(t *testing.T) {
	long := datatype.LongDouble
	longComplex := datatype.LongDoubleComplex
	if number.LongDoubleIsFloat128 {
		long, longComplex = datatype.Float128, datatype.Complex256
	}
	const u = datatype.Undefined
	for _, c := range []struct {
		p, r          int
		real, complex *datatype.Type
	}{
		{6, u, datatype.Float32, datatype.Complex64}, {0, 37, datatype.Float32, datatype.Complex64}, {6, 37, datatype.Float32, datatype.Complex64},
		{7, u, datatype.Float64, datatype.Complex128}, {6, 38, datatype.Float64, datatype.Complex128}, {15, 307, datatype.Float64, datatype.Complex128},
		{u, 308, long, longComplex}, {16, u, long, longComplex}, {18, 4931, long, longComplex},
		{19, u, datatype.Float128, datatype.Complex256}, {33, 4931, datatype.Float128, datatype.Complex256},
	} {
		real, err := datatype.F90Real(c.p, c.r)
		require.NoError(t, err)
		assert.Equal(t, c.real.Kind(), real.Kind(), "%d, %d", c.p, c.r)
		again, err := datatype.F90Real(c.p, c.r)
		require.NoError(t, err)
		assert.Same(t, real, again)
		made := real.Contents()
		assert.Equal(t, datatype.CombinerF90Real, made.Combiner)
		assert.Equal(t, []int{c.p, c.r}, made.Ints)
		complex, err := datatype.F90Complex(c.p, c.r)
		require.NoError(t, err)
		assert.Equal(t, c.complex.Kind(), complex.Kind(), "%d, %d", c.p, c.r)
		assert.Equal(t, datatype.CombinerF90Complex, complex.Contents().Combiner)
		assert.NotSame(t, real, complex)
	}
	for _, bad := range [][2]int{{u, u}, {34, u}, {u, 4932}, {-1, u}, {3, -7}} {
		_, err := datatype.F90Real(bad[0], bad[1])
		assert.ErrorIs(t, err, errclass.Arg, "%v", bad)
		_, err = datatype.F90Complex(bad[0], bad[1])
		assert.ErrorIs(t, err, errclass.Arg, "%v", bad)
	}
	for r, want := range map[int]*datatype.Type{
		0: datatype.Integer1, 2: datatype.Integer1, 3: datatype.Integer2, 5: datatype.Integer4, 9: datatype.Integer4,
		10: datatype.Integer8, 18: datatype.Integer8, 19: datatype.Integer16, 38: datatype.Integer16,
	} {
		got, err := datatype.F90Integer(r)
		require.NoError(t, err)
		assert.Equal(t, want.Kind(), got.Kind(), "%d", r)
		assert.Equal(t, []int{r}, got.Contents().Ints)
	}
	for _, bad := range []int{-1, 39, u} {
		_, err := datatype.F90Integer(bad)
		assert.ErrorIs(t, err, errclass.Arg, "%d", bad)
	}
}

func TestMatchSize(t *testing.T) {
	for class, want := range map[datatype.Class]map[int]*datatype.Type{
		datatype.ClassReal:    {2: datatype.Float16, 4: datatype.Float32, 8: datatype.Float64, 16: datatype.Float128},
		datatype.ClassInteger: {1: datatype.Integer1, 2: datatype.Integer2, 4: datatype.Integer4, 8: datatype.Integer8, 16: datatype.Integer16},
		datatype.ClassComplex: {4: datatype.Complex32, 8: datatype.Complex64, 16: datatype.Complex128, 32: datatype.Complex256},
		99:                    {},
	} {
		for size := range 40 {
			got, err := datatype.MatchSize(class, size)
			if want[size] == nil {
				assert.ErrorIs(t, err, errclass.Arg, "%d, %d", class, size)
			} else {
				assert.NoError(t, err)
			}
			assert.Same(t, want[size], got, "%d, %d", class, size)
		}
	}
}
