package file

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// The calls with the shared pointer need the same view in all processes.

// ReadShared reads at the shared pointer, and moves it (MPI_File_read_shared; MPI-4.1, 14.4.4).
// Several processes at once read one after another, in any order.
func (f *File) ReadShared(ctx context.Context, b mpi.Buffer) (mpi.Status, error) {
	return f.alone(ctx, "MPI_File_read_shared", false, common, 0, b)
}

// WriteShared writes at the shared pointer, and moves it (MPI_File_write_shared; MPI-4.1, 14.4.4).
// The parts of several processes at once follow one another, in any order.
func (f *File) WriteShared(ctx context.Context, b mpi.Buffer) (mpi.Status, error) {
	return f.alone(ctx, "MPI_File_write_shared", true, common, 0, b)
}

// IreadShared is the non-blocking ReadShared (MPI_File_iread_shared; MPI-4.1, 14.4.4). Later calls
// of this process see that the pointer has moved.
func (f *File) IreadShared(b mpi.Buffer) mpi.Request {
	return f.begin("MPI_File_iread_shared", false, common, 0, b)
}

// IwriteShared is the non-blocking WriteShared (MPI_File_iwrite_shared; MPI-4.1, 14.4.4). Later
// calls of this process see that the pointer has moved.
func (f *File) IwriteShared(b mpi.Buffer) mpi.Request {
	return f.begin("MPI_File_iwrite_shared", true, common, 0, b)
}

// ReadOrdered reads at the shared pointer on all processes: first the part of rank 0, behind it that
// of rank 1, and so on (MPI_File_read_ordered; MPI-4.1, 14.4.4).
func (f *File) ReadOrdered(ctx context.Context, b mpi.Buffer) (mpi.Status, error) {
	return f.all(ctx, "MPI_File_read_ordered", false, common, 0, b)
}

// WriteOrdered writes at the shared pointer on all processes: first the part of rank 0, behind it
// that of rank 1, and so on (MPI_File_write_ordered; MPI-4.1, 14.4.4).
func (f *File) WriteOrdered(ctx context.Context, b mpi.Buffer) (mpi.Status, error) {
	return f.all(ctx, "MPI_File_write_ordered", true, common, 0, b)
}
