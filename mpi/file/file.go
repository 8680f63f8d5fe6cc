package file

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/exchange"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/shared"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
	"github.com/viaduct-hpc/viaduct/mpi/internal/team"
)

// A File is a file that the processes of a communicator have opened together (MPI_File; MPI-4.1,
// 14.1.1). Its methods may be called from any goroutine; collective ones must be called in the same
// order by all ranks.
type File struct {
	name    string
	mode    Mode
	team    *team.Team
	store   storage.File
	desk    *shared.Desk
	pool    exchange.Pool
	near    exchange.Near // of collective operations, in their turn
	onErr   atomic.Pointer[func(*File, error)]
	turns   queue // of collective operations
	sharing queue // of uses of the shared pointer
	running sync.WaitGroup
	written atomic.Bool // since the last sync

	mu      sync.Mutex
	closed  bool // guarded by mu, as all below
	hints   hints
	seen    seen
	pointer int64 // the individual pointer, in etypes
	atomic  bool
	// byDesk: atomic accesses use the locks of the desk, not of the storage.
	byDesk bool
	split  *splitOp // the split collective operation that has begun, or nil
}

// Open opens a file on all processes of a communicator (MPI_File_open; MPI-4.1, 14.2.1). The mode
// must be the same everywhere. The name is that of a file of the operating system, or begins with
// "pvfs:", as the documentation of the package says. info has hints, or is nil. Each process has its
// own, except for collective operations, where those of rank 0 apply.
//
// If ctx ends, Open fails here, and soon in the other processes.
func Open(ctx context.Context, c *mpi.Comm, name string, mode Mode, info *mpi.Info) (*File, error) {
	if c == nil {
		return nil, errclass.New(errclass.Comm, "the communicator is nil: take one of this process")
	}
	if c.IsInter() {
		return nil, errclass.New(errclass.Comm, "a file cannot be opened by an inter-communicator: merge it first")
	}
	call := within.Enter(c, "MPI_File_open", mpi.Undefined, 0)
	f, err := openOn(ctx, c, name, mode, info)
	within.Leave(c, call, err)
	return f, err
}

func openOn(ctx context.Context, c *mpi.Comm, name string, mode Mode, info *mpi.Info) (*File, error) {
	t, err := team.New(ctx, c, "the file")
	if err != nil {
		return nil, err
	}
	f := &File{name: name, mode: mode, team: t}
	if err := f.open(ctx, info); err != nil {
		if f.store != nil {
			_ = f.store.Close(context.WithoutCancel(ctx)) // nothing was written
		}
		_ = t.Close(ctx)
		return nil, err
	}
	return f, nil
}

// open does what Open does with the team.
func (f *File) open(ctx context.Context, info *mpi.Info) error {
	err := f.mode.check()
	if err == nil {
		f.hints, err = defaultHints().with(info)
	}
	all, err := f.team.Agree(ctx, err, append([]int64{int64(f.mode)}, f.hints.common()...)...)
	if err != nil {
		return err
	}
	n := 1 + commonHints
	for rank := range f.team.Size() {
		if all[rank*n] != all[0] {
			return errclass.New(errclass.NotSame, "rank %d opens the file with mode %#x, and rank 0 with %#x: give the same everywhere", rank, all[rank*n], all[0])
		}
	}
	f.hints.setCommon(all[1:n])
	// Rank 0 opens it first, because it may have to create it.
	if f.team.Rank() == 0 {
		f.store, err = openStore(ctx, f.name, f.mode.flags(true), &f.hints)
	}
	if _, err = f.team.Agree(ctx, err); err != nil {
		return err
	}
	if f.team.Rank() != 0 {
		f.store, err = openStore(ctx, f.name, f.mode.flags(false), &f.hints)
	}
	end := int64(0)
	if err == nil && f.mode&ModeAppend != 0 {
		end, err = f.store.Size(ctx)
	}
	if all, err = f.team.Agree(ctx, err, end); err != nil {
		return err
	}
	f.seen = bytesFrom(0)
	f.pointer = all[0]
	f.desk = shared.New(f.team, all[0])
	return nil
}

// Close closes the file on all processes (MPI_File_close; MPI-4.1, 14.2.2). It waits for requests
// that were not waited for, and syncs what this process has written. A file that was opened with
// ModeDeleteOnClose is removed. The File is closed even if Close returns an error. If this process
// has abandoned an operation, Close waits until the others have begun it, or ctx ends.
func (f *File) Close(ctx context.Context) error {
	call := f.enter("MPI_File_close", nil)
	return f.leave(call, f.closeOnce(ctx))
}

func (f *File) closeOnce(ctx context.Context) error {
	f.mu.Lock()
	closed := f.closed
	f.closed = true
	f.mu.Unlock()
	if closed {
		return errClosed
	}
	t := f.turns.join()
	if err := t.wait(ctx); err != nil {
		_ = f.team.Break(err) // so the operations before end
		t.come()
	}
	defer t.end()
	return f.close(ctx)
}

// close closes the file in its turn.
func (f *File) close(ctx context.Context) error {
	f.running.Wait()
	abandoned := f.team.Broken()
	var err error
	if f.written.Load() {
		err = f.store.Sync(ctx)
	}
	f.near.Close()
	if cerr := f.store.Close(context.WithoutCancel(ctx)); err == nil {
		err = cerr
	}
	if abandoned == nil {
		_, err = f.team.Agree(ctx, err) // from here on, no rank uses the shared pointer
	}
	f.desk.Close()
	if f.mode&ModeDeleteOnClose != 0 {
		err = f.deleteClosed(ctx, err)
	}
	if cerr := f.team.Close(ctx); err == nil {
		err = cerr
	}
	return err
}

// deleteClosed removes the file, after an error of Close or nil.
func (f *File) deleteClosed(ctx context.Context, err error) error {
	if f.team.Broken() != nil {
		// All ranks try, because any may be the last. One succeeds.
		if derr := deleteStored(context.WithoutCancel(ctx), f.name); err == nil && !errors.Is(derr, mpi.ErrNoSuchFile) {
			err = derr
		}
		return err
	}
	if f.team.Rank() == 0 {
		if derr := deleteStored(ctx, f.name); err == nil {
			err = derr
		}
	}
	_, err = f.team.Agree(ctx, err)
	return err
}

// Delete removes a file (MPI_File_delete; MPI-4.1, 14.2.3). It is not collective. If there is none,
// the error has class ErrNoSuchFile. No hint of info is used.
func Delete(ctx context.Context, name string, info *mpi.Info) error {
	_ = info
	return deleteStored(ctx, name)
}

// Name returns the name that the file was opened by.
func (f *File) Name() string { return f.name }

// Group returns the group of the processes that have opened the file (MPI_File_get_group; MPI-4.1,
// 14.2.7).
func (f *File) Group() *mpi.Group { return f.team.Group() }

// Mode returns the mode of Open (MPI_File_get_amode; MPI-4.1, 14.2.7).
func (f *File) Mode() Mode { return f.mode }

// SetInfo changes hints, on all processes (MPI_File_set_info; MPI-4.1, 14.2.8). Hints that concern
// only new files have no effect.
func (f *File) SetInfo(ctx context.Context, info *mpi.Info) error {
	return f.collective(ctx, "MPI_File_set_info", func(ctx context.Context, err error) error {
		set, err := f.newHints(ctx, info, err)
		if err == nil {
			f.mu.Lock()
			f.hints = set
			f.mu.Unlock()
		}
		return err
	})
}

// newHints agrees on the hints as changed by info.
func (f *File) newHints(ctx context.Context, info *mpi.Info, err error) (hints, error) {
	f.mu.Lock()
	set := f.hints
	f.mu.Unlock()
	if err == nil {
		set, err = set.with(info)
	}
	all, err := f.team.Agree(ctx, err, set.common()...)
	if err != nil {
		return set, err
	}
	set.setCommon(all[:commonHints])
	return set, nil
}

// Info returns the hints in use (MPI_File_get_info; MPI-4.1, 14.2.8). The striping is the
// file's own.
func (f *File) Info() *mpi.Info {
	f.mu.Lock()
	set := f.hints
	f.mu.Unlock()
	l := f.store.Layout()
	set.unit, set.factor = l.Unit, int64(l.Count)
	set.cbNodes = int64(len(set.aggregators(f.team.Size())))
	return set.info()
}

// SetErrorHandler makes h the handler for errors of later calls in this process; nil is
// MPI_ERRORS_RETURN, the default (MPI_File_set_errhandler; MPI-4.1, 9.3.4). It is called before the
// call returns its error.
func (f *File) SetErrorHandler(h func(f *File, err error)) {
	if h == nil {
		f.onErr.Store(nil)
		return
	}
	f.onErr.Store(&h)
}

// ErrorHandler returns the handler that SetErrorHandler set, or nil (MPI_File_get_errhandler;
// MPI-4.1, 9.3.4).
func (f *File) ErrorHandler() func(f *File, err error) {
	if h := f.onErr.Load(); h != nil {
		return *h
	}
	return nil
}

// CallErrorHandler calls the handler with an error of the program's own, and returns the error
// (MPI_File_call_errhandler; MPI-4.1, 9.5).
func (f *File) CallErrorHandler(err error) error { return f.fail(err) }
