package file

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Size returns the size of the file in bytes (MPI_File_get_size; MPI-4.1, 14.2.6).
func (f *File) Size(ctx context.Context) (int64, error) {
	call := f.enter("MPI_File_get_size", nil)
	err := f.open1()
	n := int64(0)
	if err == nil {
		n, err = f.store.Size(ctx)
	}
	return n, f.leave(call, err)
}

// SetSize sets the size of the file in bytes, on all processes, which must give the same
// (MPI_File_set_size; MPI-4.1, 14.2.4). Pointers do not move.
func (f *File) SetSize(ctx context.Context, size int64) error {
	return f.resize(ctx, "MPI_File_set_size", size, func(ctx context.Context) error { return f.store.Truncate(ctx, size) })
}

// Preallocate makes room for size bytes on storage, on all processes, which must give the same
// (MPI_File_preallocate; MPI-4.1, 14.2.5). A file that is shorter is then that long; bytes that were
// written before stay.
func (f *File) Preallocate(ctx context.Context, size int64) error {
	return f.resize(ctx, "MPI_File_preallocate", size, func(ctx context.Context) error { return f.store.Preallocate(ctx, size) })
}

// resize runs do on rank 0.
func (f *File) resize(ctx context.Context, name string, size int64, do func(ctx context.Context) error) error {
	return f.collective(ctx, name, func(ctx context.Context, err error) error {
		if err == nil {
			err = f.mode.may(true)
		}
		if err == nil && f.mode&ModeSequential != 0 {
			err = f.mode.random()
		}
		if err == nil && size < 0 {
			err = errclass.New(errclass.Arg, "the size is %d, give 0 or more", size)
		}
		all, err := f.team.Agree(ctx, err, size)
		if err == nil {
			err = notSame(all, "size")
		}
		if err != nil {
			return err
		}
		if f.team.Rank() == 0 {
			err = do(ctx)
		}
		_, err = f.team.Agree(ctx, err)
		return err
	})
}

// Sync puts all that the processes have written on storage (MPI_File_sync; MPI-4.1, 14.6.1). It is
// collective. What one process has written before Sync, all see behind it.
func (f *File) Sync(ctx context.Context) error {
	return f.collective(ctx, "MPI_File_sync", func(ctx context.Context, err error) error {
		if err == nil && f.written.Swap(false) {
			if err = f.store.Sync(ctx); err != nil {
				f.written.Store(true)
			}
		}
		_, err = f.team.Agree(ctx, err)
		return err
	})
}
