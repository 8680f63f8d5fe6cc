package datatype

import (
	"sync"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// Undefined is a precision or a range that does not matter (MPI_UNDEFINED).
const Undefined = -32766

// A realKind is a kind of Fortran's real numbers: its decimal digits, and its decimal range of
// exponents.
type realKind struct {
	digits, exponents int
	real, complex     *Type
}

// realKinds are those of gfortran, the smallest first.
var realKinds = func() []realKind {
	all := []realKind{{6, 37, Float32, Complex64}, {15, 307, Float64, Complex128}}
	if !number.LongDoubleIsFloat128 {
		all = append(all, realKind{18, 4931, LongDouble, LongDoubleComplex})
	}
	return append(all, realKind{33, 4931, Float128, Complex256})
}()

// integerKinds are Fortran's kinds of integers by their decimal digits, the smallest first.
var integerKinds = []struct {
	digits int
	t      *Type
}{{2, Integer1}, {4, Integer2}, {9, Integer4}, {18, Integer8}, {38, Integer16}}

// F90Real returns the type of Fortran's real numbers with at least so many decimal digits and such a
// range of decimal exponents, as selected_real_kind chooses it (MPI_Type_create_f90_real; MPI-4.1,
// 19.1.9). One of them may be Undefined. The same arguments give the same type.
func F90Real(digits, exponents int) (*Type, error) {
	k, err := realKindOf(digits, exponents)
	if err != nil {
		return nil, err
	}
	return selected(k.real, Contents{CombinerF90Real, []int{digits, exponents}, nil, nil})
}

// F90Complex is F90Real for complex numbers (MPI_Type_create_f90_complex; MPI-4.1, 19.1.9).
func F90Complex(digits, exponents int) (*Type, error) {
	k, err := realKindOf(digits, exponents)
	if err != nil {
		return nil, err
	}
	return selected(k.complex, Contents{CombinerF90Complex, []int{digits, exponents}, nil, nil})
}

// F90Integer returns the type of Fortran's integers with at least so many decimal digits, as
// selected_int_kind chooses it (MPI_Type_create_f90_integer; MPI-4.1, 19.1.9). The same argument
// gives the same type.
func F90Integer(digits int) (*Type, error) {
	for _, k := range integerKinds {
		if digits >= 0 && digits <= k.digits {
			return selected(k.t, Contents{CombinerF90Integer, []int{digits}, nil, nil})
		}
	}
	return nil, errclass.New(errclass.Arg, "Fortran has no integers of %d decimal digits: give 0 to 38", digits)
}

func realKindOf(digits, exponents int) (realKind, error) {
	for _, n := range []int{digits, exponents} {
		if n < 0 && n != Undefined {
			return realKind{}, errclass.New(errclass.Arg, "a precision or a range of %d: give 0 or more, or Undefined", n)
		}
	}
	if digits == Undefined && exponents == Undefined {
		return realKind{}, errclass.New(errclass.Arg, "neither a precision nor a range is given: give one")
	}
	for _, k := range realKinds {
		if digits <= k.digits && exponents <= k.exponents {
			return k, nil
		}
	}
	return realKind{}, errclass.New(errclass.Arg, "Fortran has no real numbers of %d decimal digits with exponents up to %d", digits, exponents)
}

// selections has the types that were selected. There are at most as many as arguments that are
// allowed.
var selections sync.Map // of [3]int: the combiner and its arguments

// selected returns the one copy of t that is made by these arguments.
func selected(t *Type, made Contents) (*Type, error) {
	key := [3]int{int(made.Combiner)}
	copy(key[1:], made.Ints)
	if known, ok := selections.Load(key); ok {
		return known.(*Type), nil
	}
	s, err := newType(t.shape, new(sums), made)
	if err != nil {
		return nil, err
	}
	kept, _ := selections.LoadOrStore(key, s)
	return kept.(*Type), nil
}

// A Class is a class of types that have sizes (MPI-4.1, 19.1.9).
type Class int

// The classes.
const (
	ClassReal    Class = iota // MPI_TYPECLASS_REAL
	ClassInteger              // MPI_TYPECLASS_INTEGER
	ClassComplex              // MPI_TYPECLASS_COMPLEX
)

// MatchSize returns the predefined type of Fortran's numbers of a class that have size bytes
// (MPI_Type_match_size; MPI-4.1, 19.1.9).
func MatchSize(class Class, size int) (*Type, error) {
	var of []*Type
	switch class {
	case ClassReal:
		of = []*Type{Float16, Float32, Float64, Float128}
	case ClassInteger:
		of = []*Type{Integer1, Integer2, Integer4, Integer8, Integer16}
	case ClassComplex:
		of = []*Type{Complex32, Complex64, Complex128, Complex256}
	default:
		return nil, errclass.New(errclass.Arg, "there is no class %d of types: take ClassReal, ClassInteger or ClassComplex", class)
	}
	for _, t := range of {
		if t.Size() == size {
			return t, nil
		}
	}
	return nil, errclass.New(errclass.Arg, "no type of this class has %d bytes", size)
}
