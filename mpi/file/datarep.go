package file

import (
	"runtime"
	"sync"
	"weak"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Datarep is how data is represented in a file (MPI-4.1, 14.5).
type Datarep string

// The representations. Internal is the same as Native: every process of this library has the same.
const (
	Native     Datarep = "native"     // as in memory
	Internal   Datarep = "internal"   // as any process of this library reads it
	External32 Datarep = "external32" // big-endian, as every MPI library reads it
)

// DatarepBytesMax is how long the name of a representation may be (MPI_MAX_DATAREP_STRING).
const DatarepBytesMax = 128

// Conversions are the functions of a representation of the program's own (MPI-4.1, 14.5.3). They get
// elements of predefined types such as datatype.Float64, several of one type at a time; a pair comes
// as values and indexes. In C, such functions walk a datatype; here the library does.
//
// The functions may be called by several goroutines at once, with any part of an operation's
// elements, in any order and more than once for elements that are written. They must not communicate,
// and must not keep the slices.
type Conversions struct {
	// Extent returns how many bytes an element of a type has in the file.
	Extent func(t *datatype.Type) (int, error)
	// Read converts n elements from a file to memory, and Write converts n elements from memory to a
	// file, whose bytes are 0; on both sides they lie one behind another. nil means that the bytes are
	// the same; then Extent must be the size in memory (MPI_CONVERSION_FN_NULL).
	Read  func(memory, file []byte, t *datatype.Type, n int) error
	Write func(file, memory []byte, t *datatype.Type, n int) error
}

// RegisterDatarep makes a representation known to this process, for SetView
// (MPI_Register_datarep; MPI-4.1, 14.5.3). It stays known until the process ends. If the name is
// known already, the error has class ErrDupDatarep.
func RegisterDatarep(p *mpi.Process, name Datarep, c Conversions) error {
	if p == nil {
		return errclass.New(errclass.Arg, "the process is nil: give the one that Init returned")
	}
	call := within.Enter(p.Self(), "MPI_Register_datarep", mpi.Undefined, 0)
	err := register(p, name, c)
	within.Leave(p.Self(), call, err)
	return err
}

func register(p *mpi.Process, name Datarep, c Conversions) error {
	switch {
	case name == "" || len(name) > DatarepBytesMax:
		return errclass.New(errclass.Arg, "a representation has a name of %d bytes: give 1 to %d", len(name), DatarepBytesMax)
	case c.Extent == nil:
		return errclass.New(errclass.Arg, "the representation %q has no function Extent", name)
	case name == Native || name == Internal || name == External32:
		return errDup(name)
	}
	known := registryOf(p)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.reps[name] != nil {
		return errDup(name)
	}
	known.reps[name] = c.representation()
	return nil
}

func errDup(name Datarep) error {
	return errclass.New(errclass.DupDatarep, "the representation %q is known already: give another name", name)
}

// A registry has the representations that a process has registered.
type registry struct {
	mu   sync.Mutex
	reps map[Datarep]*datatype.Representation
}

// registries has the registry of each process that has one, by weak.Pointer.
var registries sync.Map

func registryOf(p *mpi.Process) *registry {
	key := weak.Make(p)
	r, known := registries.LoadOrStore(key, &registry{reps: make(map[Datarep]*datatype.Representation)})
	if !known {
		runtime.AddCleanup(p, func(key weak.Pointer[mpi.Process]) { registries.Delete(key) }, key)
	}
	return r.(*registry)
}

// representationOf returns what a name stands for in a process, nil for the bytes as they are.
func representationOf(p *mpi.Process, name Datarep) (*datatype.Representation, error) {
	switch name {
	case Native, Internal:
		return nil, nil
	case External32:
		return datatype.External32, nil
	}
	known := registryOf(p)
	known.mu.Lock()
	defer known.mu.Unlock()
	if r := known.reps[name]; r != nil {
		return r, nil
	}
	return nil, errclass.New(errclass.UnsupportedDatarep, "the representation %q is unknown: take Native, Internal or External32, or register it on this process", name)
}

// representation is c for package datatype, where elements have kinds.
func (c Conversions) representation() *datatype.Representation {
	return &datatype.Representation{
		Size: func(k datatype.Kind) (int, error) {
			n, err := c.Extent(datatype.ByKind(k))
			if err == nil && n != k.Size() && (c.Read == nil || c.Write == nil) {
				err = errclass.New(errclass.Conversion, "%v has %d bytes in the file and %d in memory, and there is no function that converts it", datatype.ByKind(k), n, k.Size())
			}
			return n, err
		},
		Encode: converting(cleared(c.Write)),
		Decode: converting(c.Read),
	}
}

// cleared calls f with a zeroed destination, so that bytes which f does not write do not keep old
// contents.
func cleared(f conversion) conversion {
	if f == nil {
		return nil
	}
	return func(dst, src []byte, t *datatype.Type, n int) error {
		clear(dst)
		return f(dst, src, t, n)
	}
}

// A conversion is Read or Write of Conversions.
type conversion = func(dst, src []byte, t *datatype.Type, n int) error

// converting returns a function of a Representation, which copies if f is nil.
func converting(f conversion) func(dst, src []byte, k datatype.Kind, n int) error {
	if f == nil {
		return func(dst, src []byte, _ datatype.Kind, _ int) error {
			copy(dst, src)
			return nil
		}
	}
	return func(dst, src []byte, k datatype.Kind, n int) error {
		return f(dst[:len(dst):len(dst)], src[:len(src):len(src)], datatype.ByKind(k), n)
	}
}
