package file

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
)

// SetAtomicity sets, on all processes, whether accesses are atomic (MPI_File_set_atomicity;
// MPI-4.1, 14.6.1): then of two that overlap at the same time, one happens as a whole before the
// other. Atomic accesses lock what lies between their first and their last byte, and collective ones
// do not use aggregators.
func (f *File) SetAtomicity(ctx context.Context, atomic bool) error {
	return f.collective(ctx, "MPI_File_set_atomicity", func(ctx context.Context, err error) error {
		flag, byDesk := int64(0), int64(0)
		if err == nil && atomic {
			flag = 1
			byDesk, err = f.needsDesk(ctx)
		}
		all, err := f.team.Agree(ctx, err, flag, byDesk)
		if err != nil {
			return err
		}
		any := false
		for rank := range f.team.Size() {
			if all[2*rank] != flag {
				return errclass.New(errclass.NotSame, "rank %d sets the other mode: give the same everywhere", rank)
			}
			any = any || all[2*rank+1] == 1
		}
		f.mu.Lock()
		f.atomic, f.byDesk = atomic, any
		f.mu.Unlock()
		return f.team.Barrier(ctx)
	})
}

// needsDesk returns 1 if the stored file has no locks, and 0 if it has.
func (f *File) needsDesk(ctx context.Context) (int64, error) {
	l, ok := f.store.(storage.Locker)
	if !ok {
		return 1, nil
	}
	unlock, err := l.Lock(ctx, 0, 1, f.mode&ModeWronly == 0)
	if errors.Is(err, errclass.UnsupportedOperation) {
		return 1, nil
	}
	if err == nil {
		unlock()
	}
	return 0, err
}

// Atomicity tells whether accesses are atomic (MPI_File_get_atomicity; MPI-4.1, 14.6.1).
func (f *File) Atomicity() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.atomic
}
