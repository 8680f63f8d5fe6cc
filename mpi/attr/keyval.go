package attr

import (
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A CopyFunc decides what becomes of an attribute when its object is duplicated: the value for
// the new object, and whether that has the attribute at all. An error stops the duplication
// (MPI_Comm_copy_attr_function; MPI-4.1, 7.7.2).
type CopyFunc[O any] func(old O, key *Keyval[O], value any) (copied any, keep bool, err error)

// A DeleteFunc is called when an attribute is deleted or replaced, or its object freed. With
// an error the attribute stays, and what was about to delete it fails
// (MPI_Comm_delete_attr_function; MPI-4.1, 7.7.2).
type DeleteFunc[O any] func(object O, key *Keyval[O], value any) error

// KeepValue is a CopyFunc that gives the new object the same value (MPI_COMM_DUP_FN).
func KeepValue[O any](_ O, _ *Keyval[O], value any) (any, bool, error) { return value, true, nil }

// A Keyval is the key of an attribute. It is made by a program for its own use and compared by
// identity, so nobody else can name it. What the standard calls extra state is in what the
// functions close over.
type Keyval[O any] struct {
	copy   CopyFunc[O]
	delete DeleteFunc[O]
	fixed  bool
	freed  atomic.Bool
}

// NewKeyval makes a key (MPI_Comm_create_keyval; MPI-4.1, 7.7.2). A nil copy function gives
// new objects no such attribute (MPI_COMM_NULL_COPY_FN), a nil delete function does nothing.
func NewKeyval[O any](copy CopyFunc[O], del DeleteFunc[O]) *Keyval[O] {
	return &Keyval[O]{copy: copy, delete: del}
}

// NewFixed makes the key of an attribute that programs read only, such as MPI_TAG_UB
// (MPI-4.1, 9.1.2): it is stored by List.Fix.
func NewFixed[O any]() *Keyval[O] {
	return &Keyval[O]{copy: KeepValue[O], fixed: true}
}

// Free says that no attribute will be stored under the key any more (MPI_Comm_free_keyval;
// MPI-4.1, 7.7.2). Those that are stay until they are deleted or their objects freed: until
// then they can be read, and their functions are called. To free a key twice, or one of
// NewFixed, is an error of class Keyval.
func (k *Keyval[O]) Free() error {
	if k == nil || k.fixed {
		return k.unfit("freed")
	}
	if k.freed.Swap(true) {
		return errclass.New(errclass.Keyval, "the key is freed already: free it once")
	}
	return nil
}

// mayStore makes sure that programs may store an attribute under the key.
func (k *Keyval[O]) mayStore() error {
	switch {
	case k == nil || k.fixed:
		return k.unfit("set")
	case k.freed.Load():
		return errclass.New(errclass.Keyval, "the key is freed: make another one to store attributes")
	}
	return nil
}

// mayDelete makes sure that programs may delete an attribute of the key.
func (k *Keyval[O]) mayDelete() error {
	if k == nil || k.fixed {
		return k.unfit("deleted")
	}
	return nil
}

// unfit is the error about a key that is none, or not the program's.
func (k *Keyval[O]) unfit(what string) error {
	if k == nil {
		return errclass.New(errclass.Keyval, "the key is nil: make one for the kind of object")
	}
	return errclass.New(errclass.Keyval, "the attribute is predefined and cannot be %s: it may be read only", what)
}
