package file

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// Read reads at this process's pointer, and moves it (MPI_File_read; MPI-4.1, 14.4.3).
func (f *File) Read(ctx context.Context, b mpi.Buffer) (mpi.Status, error) {
	return f.alone(ctx, "MPI_File_read", false, individual, 0, b)
}

// Write writes at this process's pointer, and moves it (MPI_File_write; MPI-4.1, 14.4.3).
func (f *File) Write(ctx context.Context, b mpi.Buffer) (mpi.Status, error) {
	return f.alone(ctx, "MPI_File_write", true, individual, 0, b)
}

// Iread is the non-blocking Read (MPI_File_iread; MPI-4.1, 14.4.3). The pointer moves at once.
func (f *File) Iread(b mpi.Buffer) mpi.Request {
	return f.begin("MPI_File_iread", false, individual, 0, b)
}

// Iwrite is the non-blocking Write (MPI_File_iwrite; MPI-4.1, 14.4.3). The pointer moves at once.
func (f *File) Iwrite(b mpi.Buffer) mpi.Request {
	return f.begin("MPI_File_iwrite", true, individual, 0, b)
}

// ReadAll is the collective Read (MPI_File_read_all; MPI-4.1, 14.4.3).
func (f *File) ReadAll(ctx context.Context, b mpi.Buffer) (mpi.Status, error) {
	return f.all(ctx, "MPI_File_read_all", false, individual, 0, b)
}

// WriteAll is the collective Write (MPI_File_write_all; MPI-4.1, 14.4.3).
func (f *File) WriteAll(ctx context.Context, b mpi.Buffer) (mpi.Status, error) {
	return f.all(ctx, "MPI_File_write_all", true, individual, 0, b)
}

// IreadAll is the non-blocking ReadAll (MPI_File_iread_all; MPI-4.1, 14.4.3). The pointer moves at
// once.
func (f *File) IreadAll(b mpi.Buffer) mpi.Request {
	return f.beginAll("MPI_File_iread_all", false, individual, 0, b)
}

// IwriteAll is the non-blocking WriteAll (MPI_File_iwrite_all; MPI-4.1, 14.4.3). The pointer moves
// at once.
func (f *File) IwriteAll(b mpi.Buffer) mpi.Request {
	return f.beginAll("MPI_File_iwrite_all", true, individual, 0, b)
}
