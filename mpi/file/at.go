package file

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// ReadAt reads at an offset in etypes (MPI_File_read_at; MPI-4.1, 14.4.2). No pointer moves.
func (f *File) ReadAt(ctx context.Context, offset int64, b mpi.Buffer) (mpi.Status, error) {
	return f.alone(ctx, "MPI_File_read_at", false, explicit, offset, b)
}

// WriteAt writes at an offset in etypes (MPI_File_write_at; MPI-4.1, 14.4.2). No pointer moves.
func (f *File) WriteAt(ctx context.Context, offset int64, b mpi.Buffer) (mpi.Status, error) {
	return f.alone(ctx, "MPI_File_write_at", true, explicit, offset, b)
}

// IreadAt is the non-blocking ReadAt (MPI_File_iread_at; MPI-4.1, 14.4.2).
func (f *File) IreadAt(offset int64, b mpi.Buffer) mpi.Request {
	return f.begin("MPI_File_iread_at", false, explicit, offset, b)
}

// IwriteAt is the non-blocking WriteAt (MPI_File_iwrite_at; MPI-4.1, 14.4.2).
func (f *File) IwriteAt(offset int64, b mpi.Buffer) mpi.Request {
	return f.begin("MPI_File_iwrite_at", true, explicit, offset, b)
}

// ReadAtAll is the collective ReadAt (MPI_File_read_at_all; MPI-4.1, 14.4.2).
func (f *File) ReadAtAll(ctx context.Context, offset int64, b mpi.Buffer) (mpi.Status, error) {
	return f.all(ctx, "MPI_File_read_at_all", false, explicit, offset, b)
}

// WriteAtAll is the collective WriteAt (MPI_File_write_at_all; MPI-4.1, 14.4.2).
func (f *File) WriteAtAll(ctx context.Context, offset int64, b mpi.Buffer) (mpi.Status, error) {
	return f.all(ctx, "MPI_File_write_at_all", true, explicit, offset, b)
}

// IreadAtAll is the non-blocking ReadAtAll (MPI_File_iread_at_all; MPI-4.1, 14.4.2).
func (f *File) IreadAtAll(offset int64, b mpi.Buffer) mpi.Request {
	return f.beginAll("MPI_File_iread_at_all", false, explicit, offset, b)
}

// IwriteAtAll is the non-blocking WriteAtAll (MPI_File_iwrite_at_all; MPI-4.1, 14.4.2).
func (f *File) IwriteAtAll(offset int64, b mpi.Buffer) mpi.Request {
	return f.beginAll("MPI_File_iwrite_at_all", true, explicit, offset, b)
}
