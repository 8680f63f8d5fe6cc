package checkpoint

import (
	"slices"
	"unicode/utf8"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/manifest"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/object"
)

// An Item is a part of a checkpoint with a name: a distributed array or a value. It refers to the
// program's memory, which Save reads and Restore writes. What is wrong with the arguments of Block,
// Part and Value is found by the call that gets the Item.
type Item struct {
	name  string
	typ   manifest.Type
	shape []int

	b            mpi.Buffer
	start, count []int          // of Block
	filetype     *datatype.Type // of Part

	encode func() ([]byte, error)
	decode func(b []byte) error
}

// Block is an array of the given shape. This process has the elements from index start on, count in
// each dimension, in C order: the last index changes fastest. b is the memory of these elements and
// contains nothing else. count may be 0.
//
// In Save, each element is in the block of exactly one rank. In Restore, blocks may overlap and leave
// elements out. The element is what b has count of: numbers, arrays or structures.
func Block(name string, b mpi.Buffer, shape, start, count []int) Item {
	return Item{name: name, typ: manifest.Array, b: b, shape: slices.Clone(shape), start: slices.Clone(start), count: slices.Clone(count)}
}

// Part is an array like that of Block. This process has the elements that a filetype selects, as in
// file.File.SetView. The filetype may be a datatype.Darray or datatype.Subarray, for example, and has
// the whole array as its extent. The type of its elements has no gaps: for structures with gaps
// between fields, take datatype.Contiguous(n, datatype.Byte), where n is the size of the structure's
// datatype. A nil filetype selects nothing.
func Part(name string, b mpi.Buffer, shape []int, filetype *datatype.Type) Item {
	if filetype == nil {
		filetype = nothing
	}
	return Item{name: name, typ: manifest.Array, b: b, shape: slices.Clone(shape), filetype: filetype}
}

// nothing is the filetype of a rank without elements.
var nothing = func() *datatype.Type {
	t, err := datatype.Contiguous(0, datatype.Byte)
	if err != nil {
		panic("mpi/checkpoint: an empty datatype is refused: " + err.Error())
	}
	return t
}()

// Value is a value that all ranks have. Save takes rank 0's, and Restore gives it to all. It may have
// any type that package object sends. It is encoded, so numbers in bulk are better in an array.
func Value[T any](name string, v *T) Item {
	return Item{
		name: name, typ: manifest.Value,
		encode: func() ([]byte, error) {
			if v == nil {
				return nil, errNilValue(name)
			}
			return object.Encode(*v)
		},
		decode: func(b []byte) error {
			if v == nil {
				return errNilValue(name)
			}
			return object.Decode(b, v)
		},
	}
}

func errNilValue(name string) error {
	return errclass.New(errclass.Buffer, "the pointer to the value %q is nil", name)
}

// checkItems checks names and shapes.
func checkItems(items []Item) error {
	if len(items) > manifest.ItemsMax {
		return errclass.New(errclass.Arg, "there are %d items, at most %d are possible: put more into each", len(items), manifest.ItemsMax)
	}
	names := map[string]bool{}
	for i := range items {
		it := &items[i]
		switch {
		case it.name == "" || len(it.name) > manifest.NameBytesMax || !utf8.ValidString(it.name):
			return errclass.New(errclass.Name, "the name %q is empty, longer than %d bytes, or not UTF-8", it.name, manifest.NameBytesMax)
		case names[it.name]:
			return errclass.New(errclass.Name, "two items have the name %q: give each its own", it.name)
		case it.typ == manifest.Value:
		case it.typ != manifest.Array:
			return errclass.New(errclass.Arg, "an item is the zero value: make it with Block, Part or Value")
		case len(it.shape) < 1 || len(it.shape) > manifest.DimsMax:
			return errclass.New(errclass.Dims, "%q has %d dimensions: give 1 to %d", it.name, len(it.shape), manifest.DimsMax)
		case slices.Min(it.shape) < 0:
			return errclass.New(errclass.Dims, "%q has the shape %v: no dimension may be negative", it.name, it.shape)
		}
		names[it.name] = true
	}
	return nil
}
