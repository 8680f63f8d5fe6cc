// Package manifest is the form of a checkpoint's manifest, the small file that says what lies where in
// the file with the data: docs/internals/protocols/checkpoint.md describes it byte by byte. A checkpoint exists if and only
// if it has a manifest.
//
// manifest.go has the types and what must hold for them, wire.go their form as bytes, and names.go the
// names of the files. The package is pure, and everything in a manifest is checked when it is read.
package manifest

import (
	"math"
	"unicode/utf8"

	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/sums"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Limits of the format.
const (
	NameBytesMax = 255
	DimsMax      = 16
	ItemsMax     = 1 << 16
	// BytesMax is the size of the largest manifest.
	BytesMax = 64 << 20

	BlockBytesMin = 1 << 10
	BlockBytesMax = 1 << 30
	kindBytesMax  = 64
	// ValueBytesMax is the size of the largest value, which ranks read into their memory.
	ValueBytesMax = 1 << 30
)

// A Manifest describes a checkpoint.
type Manifest struct {
	Number     int64 // of the checkpoint, in the order of their making, > 0
	Step       int64 // the program's own number
	Ranks      int   // that saved it
	DataBytes  int64 // the length of the data file
	BlockBytes int64 // each block of an item of so many bytes has a checksum
	Items      []Item
}

// A Type says what an item is.
type Type uint8

// The types.
const (
	Array Type = 1 // an array, in C order
	Value Type = 2 // a value that all ranks have, in CBOR
)

// An Item is what was saved under one name.
type Item struct {
	Name string
	Type Type
	// Kind is the name of the kind of numbers in an element, and ElemBytes its size; "" and 0 for
	// values.
	Kind      string
	ElemBytes int64
	Shape     []int64 // of an array
	Off, Len  int64   // in the data file, bytes
	Sums      []uint32
}

// Check returns an error unless all that the format promises holds.
func (m *Manifest) Check() error {
	switch {
	case m.Number < 1:
		return damaged("the number of the checkpoint is %d", m.Number)
	case m.DataBytes < 0:
		return damaged("its data has %d bytes", m.DataBytes)
	case m.Ranks < 1 || m.Ranks > math.MaxInt32:
		return damaged("it was saved by %d ranks", m.Ranks)
	case m.BlockBytes < BlockBytesMin || m.BlockBytes > BlockBytesMax:
		return damaged("its blocks have %d bytes", m.BlockBytes)
	case len(m.Items) > ItemsMax:
		return damaged("it has %d items", len(m.Items))
	}
	end, names := int64(0), make(map[string]bool, len(m.Items))
	for i := range m.Items {
		it := &m.Items[i]
		if err := it.check(m.BlockBytes); err != nil {
			return err
		}
		if names[it.Name] {
			return damaged("two items have the name %q", it.Name)
		}
		names[it.Name] = true
		if it.Off < end || it.Len > m.DataBytes-it.Off {
			return damaged("%q lies at bytes %d to %d, the item before it ends at %d, and the data at %d", it.Name, it.Off, it.Off+it.Len, end, m.DataBytes)
		}
		end = it.Off + it.Len
	}
	if end != m.DataBytes {
		return damaged("the data has %d bytes, and its last item ends at %d", m.DataBytes, end)
	}
	return nil
}

func (it *Item) check(block int64) error {
	switch {
	case it.Name == "" || len(it.Name) > NameBytesMax || !utf8.ValidString(it.Name):
		return damaged("the name %q is empty, too long or not UTF-8", it.Name)
	case it.Off < 0 || it.Len < 0 || it.Off > math.MaxInt64-it.Len:
		return damaged("%q lies at byte %d and has %d bytes", it.Name, it.Off, it.Len)
	case int64(len(it.Sums)) != sums.Count(it.Len, block):
		return damaged("%q has %d checksums for %d bytes", it.Name, len(it.Sums), it.Len)
	case it.Type == Value:
		if it.Kind != "" || it.ElemBytes != 0 || len(it.Shape) != 0 || it.Len > ValueBytesMax {
			return damaged("the value %q has elements, or more than %d bytes", it.Name, int64(ValueBytesMax))
		}
		return nil
	case it.Type != Array:
		return damaged("%q has the unknown type %d", it.Name, it.Type)
	case it.Kind == "" || len(it.Kind) > kindBytesMax || !utf8.ValidString(it.Kind):
		return damaged("the elements of %q are %q", it.Name, it.Kind)
	case it.ElemBytes < 1 || it.ElemBytes > math.MaxInt32:
		return damaged("the elements of %q have %d bytes", it.Name, it.ElemBytes)
	case len(it.Shape) < 1 || len(it.Shape) > DimsMax:
		return damaged("%q has %d dimensions", it.Name, len(it.Shape))
	}
	if n, ok := Bytes(it.Shape, it.ElemBytes); !ok || n != it.Len {
		return damaged("%q of shape %v with elements of %d bytes has %d bytes", it.Name, it.Shape, it.ElemBytes, it.Len)
	}
	return nil
}

// Bytes returns the size of an array. ok is false if a dimension is negative or the size does not fit
// into 63 bits.
func Bytes(shape []int64, elem int64) (n int64, ok bool) {
	n = elem
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt64/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// alignment is where items begin in the data file.
const alignment = 4096

// Place sets where items of known length lie, one behind the other. It returns the length of the data
// and the size of blocks for it; ok is false if it is too long.
func Place(items []Item) (dataBytes, blockBytes int64, ok bool) {
	const longest = math.MaxInt64 - alignment
	end := int64(0)
	for i := range items {
		it := &items[i]
		it.Off = (end + alignment - 1) / alignment * alignment
		if it.Len == 0 {
			it.Off = end
		}
		if it.Len > longest-it.Off {
			return 0, 0, false
		}
		end = it.Off + it.Len
	}
	blockBytes = usualBlock
	for blockBytes < BlockBytesMax && end/blockBytes > usualBlocksMax {
		blockBytes *= 2
	}
	return end, blockBytes, end/blockBytes <= usualBlocksMax
}

// Blocks are large enough that the checksums of terabytes fit into a few megabytes.
const (
	usualBlock     = 1 << 20
	usualBlocksMax = 1 << 22
)

// damaged makes an error of a manifest that is not what it must be.
func damaged(format string, args ...any) error {
	return errclass.New(errclass.IO, "the manifest is damaged: "+format, args...)
}
