package attr

import (
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A CopyFunc is called when an object is duplicated. It returns the attribute's value for the new
// object, and whether the new object gets the attribute at all. An error stops the duplication
// (MPI_Comm_copy_attr_function; MPI-4.1, 7.7.2).
type CopyFunc[O any] func(old O, key *Keyval[O], value any) (copied any, keep bool, err error)

// A DeleteFunc is called when an attribute is deleted or replaced, or its object is freed. If it
// returns an error, the attribute stays, and the call that would have deleted it fails
// (MPI_Comm_delete_attr_function; MPI-4.1, 7.7.2).
type DeleteFunc[O any] func(object O, key *Keyval[O], value any) error

// KeepValue is a CopyFunc that gives the new object the same value (MPI_COMM_DUP_FN).
func KeepValue[O any](_ O, _ *Keyval[O], value any) (any, bool, error) { return value, true, nil }

// A Keyval is the key of an attribute. It is compared by identity, so only the program that made it
// can use it. Closures take the place of the standard's extra state.
type Keyval[O any] struct {
	copy   CopyFunc[O]
	delete DeleteFunc[O]
	fixed  bool
	freed  atomic.Bool
}

// NewKeyval makes a key (MPI_Comm_create_keyval; MPI-4.1, 7.7.2). If copy is nil, new objects do
// not get the attribute (MPI_COMM_NULL_COPY_FN). del may be nil.
func NewKeyval[O any](copy CopyFunc[O], del DeleteFunc[O]) *Keyval[O] {
	return &Keyval[O]{copy: copy, delete: del}
}

// NewFixed makes the key of an attribute that programs can only read, such as MPI_TAG_UB (MPI-4.1,
// 9.1.2). A List never holds it: package mpi knows the value.
func NewFixed[O any]() *Keyval[O] { return &Keyval[O]{fixed: true} }

// Free declares that no attribute will be stored under the key any more (MPI_Comm_free_keyval;
// MPI-4.1, 7.7.2). Stored attributes stay until they are deleted or their objects are freed: until
// then they can be read, and their functions are called. Freeing a key twice, or one of NewFixed,
// is an error of class Keyval.
func (k *Keyval[O]) Free() error {
	if k == nil || k.fixed {
		return k.unfit("freed")
	}
	if k.freed.Swap(true) {
		return errclass.New(errclass.Keyval, "the key is freed already: free it once")
	}
	return nil
}

// mayStore returns an error unless programs may store an attribute under the key.
func (k *Keyval[O]) mayStore() error {
	switch {
	case k == nil || k.fixed:
		return k.unfit("set")
	case k.freed.Load():
		return errclass.New(errclass.Keyval, "the key is freed: make another one to store attributes")
	}
	return nil
}

// mayDelete returns an error unless programs may delete an attribute of the key.
func (k *Keyval[O]) mayDelete() error {
	if k == nil || k.fixed {
		return k.unfit("deleted")
	}
	return nil
}

// unfit returns the error for a key that is nil, or not the program's.
func (k *Keyval[O]) unfit(what string) error {
	if k == nil {
		return errclass.New(errclass.Keyval, "the key is nil: make one for the kind of object")
	}
	return errclass.New(errclass.Keyval, "the attribute is predefined and cannot be %s: it may be read only", what)
}
