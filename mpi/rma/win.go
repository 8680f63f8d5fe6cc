package rma

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/attr"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/bridge"
	"github.com/viaduct-hpc/viaduct/mpi/internal/share"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/epoch"
)

// within is the inside of package mpi.
var within = bridge.Take[mpi.Comm, mpi.Request, mpi.Call]()

// A Win is a window: memory of each process of a communicator that the others may access (MPI-4.1,
// 12.2). Its methods may be called from any goroutine; each process has one set of epochs.
type Win struct {
	comm   *mpi.Comm // the window's own
	hooked bool      // a hook sees the calls
	scope  *core.Scope
	engine *core.Engine
	me     int
	flavor Flavor
	unit   int
	hints  hints
	mem    []byte // of this process; nil in a dynamic window
	peers  []peer

	region *share.Region // memory that ranks of this host share; nil if there is none
	locks  *share.Locks  // in it, if all ranks share it; else nil: the ranks' locks are in their servers
	server server

	freed atomic.Bool
	tags  atomic.Uint32 // of long messages
	fence atomic.Uint32 // for Sync
	// allowed says what the epochs allow at all ranks. Calls read it without the lock.
	allowed atomic.Uint32
	failed  atomic.Pointer[error] // the first error of an operation at no rank

	attrs attr.List[*Win]

	mu       sync.Mutex
	epochs   epoch.Machine
	onErr    ErrorHandler
	name     string
	posts    map[int]core.Request // receives of Post, by rank
	exposure []core.Request       // receives of Complete, in the exposure epoch
	leaving  map[int]chan struct{}
}

// A peer is the state of this process's accesses to one rank.
type peer struct {
	proc    *core.Proc
	size    int    // of its memory, in bytes; -1 in a dynamic window
	unit    int    // of its displacements, in bytes
	mem     []byte // its memory, if it is within reach
	atom    atomLock
	pending atomic.Int32 // operations at it that are not complete
	using   atomic.Int32 // of these, those that still use memory of this process
	reach   reach
	failed  atomic.Pointer[error]
}

// A Flavor says how a window was made (MPI_WIN_CREATE_FLAVOR; MPI-4.1, 12.2.6).
type Flavor uint8

// Flavors.
const (
	Created Flavor = iota + 1 // by Create
	Allocated
	Shared // by AllocateShared
	Dynamic
)

// Separate and Unified are the memory models (MPI_WIN_MODEL; MPI-4.1, 12.4): windows of all flavors
// are Unified.
const (
	Separate = iota + 1
	Unified
)

// ErrorHandler is called with every error of a window's calls before the call returns it.
type ErrorHandler func(w *Win, err error)

// A Keyval is the key of an attribute of windows (MPI-4.1, 7.7.3); attr.NewKeyval makes one.
type Keyval = attr.Keyval[*Win]

// Memory returns this process's part of the window, nil in a dynamic one (MPI_WIN_BASE,
// MPI_WIN_SIZE; MPI-4.1, 12.2.6). In a window that Allocate or AllocateShared made, it must not be
// used after Free; from then on Memory returns nil.
func (w *Win) Memory() []byte {
	if w == nil || w.freed.Load() {
		return nil
	}
	return w.mem
}

// DispUnit returns the size in bytes of a step of displacements in this process's part
// (MPI_WIN_DISP_UNIT).
func (w *Win) DispUnit() int {
	if w == nil {
		return 0
	}
	return w.unit
}

// Flavor tells how the window was made (MPI_WIN_CREATE_FLAVOR).
func (w *Win) Flavor() Flavor {
	if w == nil {
		return 0
	}
	return w.flavor
}

// Model returns Unified: there is one copy of the memory, which both local loads and stores and the
// operations of other processes access (MPI_WIN_MODEL; MPI-4.1, 12.4).
func (*Win) Model() int { return Unified }

// Group returns the group of the window's processes (MPI_Win_get_group; MPI-4.1, 12.2.7).
func (w *Win) Group() *mpi.Group {
	if w == nil {
		return nil
	}
	return w.comm.Group()
}

// Name returns the name that SetName set (MPI_Win_get_name; MPI-4.1, 7.8).
func (w *Win) Name() string {
	if w == nil {
		return "MPI_WIN_NULL"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.name
}

// nameBytesMax limits the name of a window (MPI_MAX_OBJECT_NAME).
const nameBytesMax = 128

// SetName gives the window a name for messages to users, in this process only (MPI_Win_set_name).
func (w *Win) SetName(name string) error {
	if err := w.live(); err != nil {
		return w.fail(err)
	}
	if len(name) > nameBytesMax {
		return w.fail(errclass.New(errclass.Arg, "the name has %d bytes, at most %d are kept", len(name), nameBytesMax))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.name = name
	return nil
}

// SetErrorHandler makes h the handler for errors of later calls; nil, the default, means that they
// are only returned (MPI_Win_set_errhandler; MPI-4.1, 9.3.2).
func (w *Win) SetErrorHandler(h ErrorHandler) error {
	if err := w.live(); err != nil {
		return err
	}
	w.mu.Lock()
	w.onErr = h
	w.mu.Unlock()
	if h == nil {
		return w.comm.SetErrorHandler(nil)
	}
	return w.comm.SetErrorHandler(func(_ *mpi.Comm, err error) { h(w, err) }) // of Requests
}

// ErrorHandler returns the handler that SetErrorHandler set (MPI_Win_get_errhandler).
func (w *Win) ErrorHandler() ErrorHandler {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.onErr
}

// SetAttr stores an attribute in this process (MPI_Win_set_attr; MPI-4.1, 7.7.3).
func (w *Win) SetAttr(key *Keyval, value any) error {
	return w.local("MPI_Win_set_attr", func() error { return w.attrs.Put(w, key, value) })
}

// Attr returns an attribute, and whether it is set (MPI_Win_get_attr; MPI-4.1, 7.7.3).
func (w *Win) Attr(key *Keyval) (value any, ok bool, err error) {
	err = w.local("MPI_Win_get_attr", func() (err error) {
		value, ok, err = w.attrs.Get(key)
		return err
	})
	return value, ok, err
}

// DeleteAttr removes an attribute (MPI_Win_delete_attr; MPI-4.1, 7.7.3).
func (w *Win) DeleteAttr(key *Keyval) error {
	return w.local("MPI_Win_delete_attr", func() error { return w.attrs.Delete(w, key) })
}

var (
	errNil   = errclass.New(errclass.Win, "the window is nil: take one that Create or another constructor returned")
	errFreed = errclass.New(errclass.Win, "the window has been freed: use it before Free")
)

// live returns an error if the window is nil or freed.
func (w *Win) live() error {
	switch {
	case w == nil:
		return errNil
	case w.freed.Load():
		return errFreed
	}
	return nil
}

// fail passes an error to the window's handler, and returns it. The end of the caller's context is
// not an error of the window.
func (w *Win) fail(err error) error {
	if err == nil || w == nil || isContext(err) {
		return err
	}
	if h := w.ErrorHandler(); h != nil {
		h(w, err)
	}
	return err
}

// enter shows a call to the hook, and leave its end. The call is nil if there is no hook.
func (w *Win) enter(name string, rank, bytes int) *mpi.Call {
	if !w.hooked {
		return nil
	}
	return within.Enter(w.comm, name, rank, bytes)
}

func (w *Win) leave(entered *mpi.Call, err error) {
	if entered != nil {
		within.Leave(w.comm, entered, err)
	}
}

// call wraps a call that synchronises: it shows it to the hook, and passes its error on.
func (w *Win) call(name string, rank int, do func() error) error {
	if err := w.live(); err != nil {
		return w.fail(err)
	}
	entered := w.enter(name, rank, 0)
	err := w.fail(do())
	w.leave(entered, err)
	return err
}

// local wraps a call that only this process knows of.
func (w *Win) local(name string, do func() error) error {
	if err := w.live(); err != nil {
		return w.fail(err)
	}
	entered := within.Enter(w.comm, name, mpi.Undefined, 0)
	err := w.fail(do())
	within.Leave(w.comm, entered, err)
	return err
}

// checkRank returns an error unless rank is one of the window.
func (w *Win) checkRank(rank int) error {
	if uint(rank) < uint(len(w.peers)) {
		return nil
	}
	return errclass.New(errclass.Rank, "rank %d is not in the window, which has 0 to %d", rank, len(w.peers)-1)
}

// isContext tells whether an error is the end of a context.
func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// first returns the first of two errors that is one.
func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
