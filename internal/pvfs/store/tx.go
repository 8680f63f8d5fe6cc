package store

import (
	"encoding/binary"
	"fmt"
	"strings"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Tx is a transaction: of a View, or of an Update. Slices and strings that it returns stay valid.
type Tx struct {
	s       *Store
	tx      *bolt.Tx
	buckets [tables]*bolt.Bucket
	w       *batch // nil in a View
	reach   *reach // see Within
}

// A batch is the common state of the updates in one database transaction.
type batch struct {
	state state
	dirs  map[proto.Handle]*dirCounter // those used; written at the end
	undo  []func()                     // steps that undo the running update, last step first
	dead  []proto.Handle               // datafiles that the running update removed
	now   time.Time
	full  bool // nothing new may be made
}

type dirCounter struct {
	DirState
	gone  bool // the dirdata object was removed
	dirty bool
}

func (t *Tx) table(n int) *bolt.Bucket {
	if t.buckets[n] == nil {
		t.buckets[n] = t.tx.Bucket([]byte(tableNames[n]))
		if t.buckets[n] == nil {
			panic("table " + tableNames[n] + " is missing") // guard turns it into EIO
		}
		if n != tEntries && n != tXattrs {
			t.buckets[n].FillPercent = 0.9
		}
	}
	return t.buckets[n]
}

// put writes a record of an update, and keeps the old one for an undo.
func (t *Tx) put(table int, key, record []byte) error {
	b := t.table(table)
	old := b.Get(key)
	if err := b.Put(key, record); err != nil {
		return err
	}
	t.w.undo = append(t.w.undo, func() { restore(b, key, old) })
	return nil
}

// remove removes a record of an update, and keeps it for an undo.
func (t *Tx) remove(table int, key []byte) error {
	b := t.table(table)
	old := b.Get(key)
	if old == nil {
		return nil
	}
	if err := b.Delete(key); err != nil {
		return err
	}
	t.w.undo = append(t.w.undo, func() { restore(b, key, old) })
	return nil
}

// restore can only fail because of a damaged page. Then it panics, as the database itself does.
func restore(b *bolt.Bucket, key, old []byte) {
	var err error
	if old == nil {
		err = b.Delete(key)
	} else {
		err = b.Put(key, old)
	}
	if err != nil {
		panic(err)
	}
}

// rollback undoes the running update.
func (t *Tx) rollback() {
	for i := len(t.w.undo) - 1; i >= 0; i-- {
		t.w.undo[i]()
	}
	t.w.undo, t.w.dead = t.w.undo[:0], nil
}

// mayWrite returns an error if no change is possible.
func (t *Tx) mayWrite() error {
	if t.w == nil {
		return fmt.Errorf("store: a change in a View: %w", syscall.EROFS)
	}
	return nil
}

// mayGrow returns an error if nothing new can be made.
func (t *Tx) mayGrow() error {
	if t.w != nil && t.w.full {
		return fmt.Errorf("store: the disk is full: %w", syscall.ENOSPC)
	}
	return t.mayWrite()
}

// handleKey is the key of an object.
func handleKey(h proto.Handle) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, 8), ^uint64(h))
}

func keyHandle(key []byte) proto.Handle { return proto.Handle(^binary.BigEndian.Uint64(key)) }

// An Error names the operation and the object, and wraps the errno.
type Error struct {
	Op     string
	Handle proto.Handle
	Name   string // of an entry or an extended attribute, or empty
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "store: %s %d", e.Op, e.Handle)
	if e.Name != "" {
		fmt.Fprintf(&b, " %q", e.Name)
	}
	return b.String() + ": " + e.Err.Error()
}

// Unwrap returns the errno.
func (e *Error) Unwrap() error { return e.Err }

func fault(op string, h proto.Handle, err error) error { return &Error{Op: op, Handle: h, Err: err} }

func faultName(op string, h proto.Handle, name string, err error) error {
	return &Error{Op: op, Handle: h, Name: name, Err: err}
}
