package attr

import (
	"slices"
	"sync"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A List holds the attributes of one object, in the order in which they were stored. The zero value
// is empty. It must not be copied after first use.
//
// If two goroutines change the same attribute at once, its functions may run concurrently, but each
// value is passed to a delete function exactly once.
type List[O any] struct {
	mu      sync.Mutex
	entries []entry[O]
	stamp   uint64 // of the latest entry stored; tells where to put back an entry
}

type entry[O any] struct {
	key   *Keyval[O]
	value any
	stamp uint64
}

// Get returns the value of a key, and whether there is one (MPI_Comm_get_attr; MPI-4.1, 7.7.2). A
// key that is nil, or freed and not stored here, is an error of class Keyval.
func (l *List[O]) Get(key *Keyval[O]) (value any, ok bool, err error) {
	if key == nil {
		return nil, false, key.unfit("read")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.findLocked(key); i >= 0 {
		return l.entries[i].value, true, nil
	}
	if key.freed.Load() {
		return nil, false, errclass.New(errclass.Keyval, "the key is freed, and the object has no attribute of it any more")
	}
	return nil, false, nil
}

// Put stores a value under a key (MPI_Comm_set_attr; MPI-4.1, 7.7.2). An old value is deleted
// first, as by Delete, and stays if its delete function fails.
func (l *List[O]) Put(object O, key *Keyval[O], value any) error {
	if err := key.mayStore(); err != nil {
		return err
	}
	for {
		l.mu.Lock()
		i := l.findLocked(key)
		if i < 0 {
			l.addLocked(key, value)
			l.mu.Unlock()
			return nil
		}
		e := l.takeLocked(i)
		l.mu.Unlock()
		if err := l.end(object, e); err != nil {
			return err
		}
	}
}

// Delete calls the delete function of the attribute of a key and removes the attribute
// (MPI_Comm_delete_attr; MPI-4.1, 7.7.2). If the function fails, the attribute stays, and Delete
// returns the function's error. A key without an attribute here is an error of class Keyval.
func (l *List[O]) Delete(object O, key *Keyval[O]) error {
	if err := key.mayDelete(); err != nil {
		return err
	}
	l.mu.Lock()
	i := l.findLocked(key)
	if i < 0 {
		l.mu.Unlock()
		return errclass.New(errclass.Keyval, "the object has no attribute of this key: there is nothing to delete")
	}
	e := l.takeLocked(i)
	l.mu.Unlock()
	return l.end(object, e)
}

// DeleteAll deletes all attributes, the latest first, as the standard requires when MPI_Finalize
// frees MPI_COMM_SELF (MPI-4.1, 11.2.4); elsewhere the order is undefined. It stops at the first
// delete function that fails: that attribute and the earlier ones stay. Attributes that delete
// functions store are deleted too.
func (l *List[O]) DeleteAll(object O) error {
	for {
		l.mu.Lock()
		last := len(l.entries) - 1
		if last < 0 {
			l.mu.Unlock()
			return nil
		}
		e := l.takeLocked(last)
		l.mu.Unlock()
		if err := l.end(object, e); err != nil {
			return err
		}
	}
}

// CopyTo copies the attributes to dst, the empty list of a duplicate, by their copy functions and
// in their order (MPI-4.1, 7.7.2; MPI_Comm_dup, 7.4.2). If a copy function fails, CopyTo deletes
// the copies again and returns the error: there will be no duplicate. Errors of delete functions
// are then ignored.
func (l *List[O]) CopyTo(old O, dst *List[O], duplicate O) error {
	l.mu.Lock()
	entries := slices.Clone(l.entries)
	l.mu.Unlock()
	for _, e := range entries {
		if e.key.copy == nil {
			continue
		}
		value, keep, err := e.key.copy(old, e.key, e.value)
		if err != nil {
			dst.Drop(duplicate)
			return failed(err, "copy")
		}
		if keep {
			dst.mu.Lock()
			dst.addLocked(e.key, value)
			dst.mu.Unlock()
		}
	}
	return nil
}

// Len returns the number of attributes.
func (l *List[O]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// MoveTo moves all attributes to the empty list of another object. It calls no function.
func (l *List[O]) MoveTo(dst *List[O]) {
	l.mu.Lock()
	entries, stamp := l.entries, l.stamp
	l.entries = nil
	l.mu.Unlock()
	dst.mu.Lock()
	defer dst.mu.Unlock()
	dst.entries, dst.stamp = entries, stamp
}

// Drop deletes all attributes and ignores errors of their delete functions.
func (l *List[O]) Drop(object O) {
	l.mu.Lock()
	entries := l.entries
	l.entries = nil
	l.mu.Unlock()
	for _, e := range slices.Backward(entries) {
		_ = e.delete(object)
	}
}

// end calls the delete function of an entry that was removed, and puts the entry back if that
// fails.
func (l *List[O]) end(object O, e entry[O]) error {
	err := e.delete(object)
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.findLocked(e.key) < 0 { // keep a value that has been stored meanwhile
		at, _ := slices.BinarySearchFunc(l.entries, e.stamp, func(x entry[O], stamp uint64) int {
			if x.stamp < stamp {
				return -1
			}
			return 1
		})
		l.entries = slices.Insert(l.entries, at, e)
	}
	return failed(err, "delete")
}

func (e *entry[O]) delete(object O) error {
	if e.key.delete == nil {
		return nil
	}
	return e.key.delete(object, e.key, e.value)
}

// failed returns the error of a function of the program. It keeps the MPI class of the error,
// unless that is MPI_SUCCESS, which is not an error.
func failed(err error, what string) error {
	class := errclass.Of(err)
	if class == errclass.Success {
		class = errclass.Other
	}
	return errclass.Wrap(class, err, "the %s function of an attribute failed", what)
}

func (l *List[O]) findLocked(key *Keyval[O]) int {
	return slices.IndexFunc(l.entries, func(e entry[O]) bool { return e.key == key })
}

func (l *List[O]) addLocked(key *Keyval[O], value any) {
	l.stamp++
	l.entries = append(l.entries, entry[O]{key, value, l.stamp})
}

func (l *List[O]) takeLocked(i int) entry[O] {
	e := l.entries[i]
	l.entries = slices.Delete(l.entries, i, i+1)
	return e
}
