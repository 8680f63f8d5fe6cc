package object

import (
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// BytesMax is the size of the largest encoded value, in bytes. A longer one is refused on both
// sides, so that a process cannot make another allocate any amount of memory.
const BytesMax = 1 << 30

// depthMax is how deep values may lie in each other: pointers, slices and structures.
const depthMax = 1024

// decoder takes whatever encode returns: as many elements and pairs as fit in a value, and strings
// that are not UTF-8, too. The number of elements is bounded by the bytes that came.
var decoder = decoding()

func decoding() cbor.DecMode {
	m, err := cbor.DecOptions{
		MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32, MaxNestedLevels: depthMax, UTF8: cbor.UTF8DecodeInvalid,
	}.DecMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return m
}

// missing is the length that stands for a value that could not be encoded.
const missing = -1

// encode returns the encoded form of a value, which decode accepts.
func encode(v any) ([]byte, error) {
	b, err := cbor.Marshal(v)
	switch {
	case err != nil:
		return nil, errclass.Wrap(errclass.Type, err, "a value of type %T cannot be encoded", v)
	case len(b) > BytesMax:
		return nil, errclass.New(errclass.Count, "a value of type %T has %d bytes in its encoded form, at most %d are sent: send its numbers with package mpi", v, len(b), BytesMax)
	}
	if err := decoder.Wellformed(b); err != nil {
		return nil, errclass.Wrap(errclass.Type, err, "a value of type %T is too deep to be decoded again, at most %d levels are: flatten it", v, depthMax)
	}
	return b, nil
}

// decode stores an encoded value at v, a pointer.
func decode(b []byte, v any, rank int) error {
	if err := decoder.Unmarshal(b, v); err != nil {
		return errclass.Wrap(errclass.Type, err, "the value of rank %d does not fit a %s", rank, typeName(v))
	}
	return nil
}

// typeName returns the name of the type that a pointer points to.
func typeName(v any) string { return fmt.Sprintf("%T", v)[1:] }

// checkLength returns an error unless a length that rank has sent makes sense.
func checkLength(n int64, rank int) error {
	switch {
	case n == missing:
		return errclass.New(errclass.Type, "rank %d has no value to send: its own error says why", rank)
	case n < 0 || n > BytesMax:
		return errclass.New(errclass.Count, "rank %d wants to send a value of %d bytes, at most %d are received", rank, n, BytesMax)
	}
	return nil
}

// lengthOf returns the length of an encoded value that is sent to the other processes.
func lengthOf(b []byte, err error) int64 {
	if err != nil {
		return missing
	}
	return int64(len(b))
}

// Encode returns a value in the form in which it travels, for storing it. Decode accepts whatever
// Encode returns.
func Encode(v any) ([]byte, error) { return encode(v) }

// Decode stores an encoded value at v, a pointer.
func Decode(b []byte, v any) error {
	if err := decoder.Unmarshal(b, v); err != nil {
		return errclass.Wrap(errclass.Type, err, "the stored value does not fit a %s", typeName(v))
	}
	return nil
}
