package datatype

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// scalars are the types of Go's scalar kinds, also for named Go types.
var scalars = [reflect.UnsafePointer + 1]*Type{
	reflect.Bool: Bool, reflect.Int: Int, reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Uint: Uint, reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
	reflect.Uintptr: Uintptr, reflect.Float32: Float32, reflect.Float64: Float64,
	reflect.Complex64: Complex64, reflect.Complex128: Complex128,
}

// Of returns the type of a Go type: a scalar, or arrays and structs of scalars, whose fields named
// _ are padding. It costs almost nothing for scalars, and for others a cache lookup after the first
// time. A type with pointers (strings, slices, maps, interfaces, functions, channels) has no
// meaning in another process: the error has class Type.
//
// The extent is Go's size of the type, so that elements lie as in a slice.
func Of[T any]() (*Type, error) {
	rt := reflect.TypeFor[T]()
	if t := scalars[rt.Kind()]; t != nil {
		return t, nil
	}
	return OfReflect(rt)
}

// known caches the results of OfReflect, by reflect.Type. Its size is limited by the number of
// types in the program.
var known sync.Map

// OfReflect is Of for a type that is known only at run time.
func OfReflect(rt reflect.Type) (*Type, error) {
	if rt == nil {
		return nil, errclass.New(errclass.Type, "nil has no datatype")
	}
	if t := scalars[rt.Kind()]; t != nil {
		return t, nil
	}
	if t, ok := known.Load(rt); ok {
		return t.(*Type), nil
	}
	t, err := derive(rt)
	if err != nil {
		return nil, err
	}
	// If two goroutines derive it at once, both return the same type.
	kept, _ := known.LoadOrStore(rt, t)
	return kept.(*Type), nil
}

func derive(rt reflect.Type) (*Type, error) {
	if t := structs[rt]; t != nil {
		return t, nil
	}
	var t *Type
	var err error
	switch rt.Kind() {
	case reflect.Array:
		t, err = deriveArray(rt)
	case reflect.Struct:
		t, err = deriveStruct(rt)
	default:
		return nil, errclass.New(errclass.Type,
			"%v has no datatype, as it holds pointers: send scalars, or arrays and structs of scalars", rt)
	}
	if err != nil {
		return nil, err
	}
	return t.Named(rt.String()), nil
}

func deriveArray(rt reflect.Type) (*Type, error) {
	elem, err := OfReflect(rt.Elem())
	if err != nil {
		return nil, errclass.Wrap(errclass.Type, err, "elements of %v", rt)
	}
	return Contiguous(rt.Len(), elem)
}

func deriveStruct(rt reflect.Type) (*Type, error) {
	var ones, offsets []int
	var types []*Type
	for i := range rt.NumField() {
		f := rt.Field(i)
		if f.Name == "_" {
			continue
		}
		t, err := OfReflect(f.Type)
		if err != nil {
			return nil, errclass.Wrap(errclass.Type, err, "field %s of %v", f.Name, rt)
		}
		ones, offsets, types = append(ones, 1), append(offsets, int(f.Offset)), append(types, t)
	}
	t, err := Struct(ones, offsets, types)
	if err != nil || t.lb == 0 && t.extent == int(rt.Size()) {
		return t, err
	}
	return Resized(t, 0, int(rt.Size()))
}

// structs maps Go's structs to the predefined types that they stand for.
var structs = map[reflect.Type]*Type{
	reflect.TypeFor[number.Float16]():                    Float16,
	reflect.TypeFor[number.Float128]():                   Float128,
	reflect.TypeFor[number.LongDouble]():                 LongDouble,
	reflect.TypeFor[number.Int128]():                     Integer16,
	reflect.TypeFor[number.Complex[number.Float16]]():    Complex32,
	reflect.TypeFor[number.Complex[number.Float128]]():   Complex256,
	reflect.TypeFor[number.Complex[number.LongDouble]](): LongDoubleComplex,
	reflect.TypeFor[Pair[number.LongDouble, int32]]():    goPair(LongDoubleInt32, unsafe.Sizeof(Pair[number.LongDouble, int32]{})),
	reflect.TypeFor[Pair[float32, float32]]():            Float32Float32,
	reflect.TypeFor[Pair[float64, float64]]():            Float64Float64,
	reflect.TypeFor[Pair[int16, int32]]():                Int16Int32,
	reflect.TypeFor[Pair[int32, int32]]():                Int32Int32,
	reflect.TypeFor[Pair[int64, int32]]():                Int64Int32,
	reflect.TypeFor[Pair[int, int32]]():                  Int64Int32,
	reflect.TypeFor[Pair[float32, int32]]():              Float32Int32,
	reflect.TypeFor[Pair[float64, int32]]():              Float64Int32,
	reflect.TypeFor[Pair[int16, int64]]():                Int16Int64,
	reflect.TypeFor[Pair[int32, int64]]():                Int32Int64,
	reflect.TypeFor[Pair[int64, int64]]():                Int64Int64,
	reflect.TypeFor[Pair[int, int64]]():                  Int64Int64,
	reflect.TypeFor[Pair[float32, int64]]():              Float32Int64,
	reflect.TypeFor[Pair[float64, int64]]():              Float64Int64,
	reflect.TypeFor[Pair[int16, int]]():                  Int16Int64,
	reflect.TypeFor[Pair[int32, int]]():                  Int32Int64,
	reflect.TypeFor[Pair[int64, int]]():                  Int64Int64,
	reflect.TypeFor[Pair[int, int]]():                    Int64Int64,
	reflect.TypeFor[Pair[float32, int]]():                Float32Int64,
	reflect.TypeFor[Pair[float64, int]]():                Float64Int64,
}

// goPair returns a pair with the extent that it has in Go.
func goPair(t *Type, size uintptr) *Type {
	in, err := Resized(t, 0, int(size))
	if err != nil {
		panic("datatype: a predefined type overflows")
	}
	return in.Named(t.name)
}
