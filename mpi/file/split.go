package file

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A split collective operation is begun by one call and completed by End (MPI-4.1, 14.4.5). A File
// has at most one at a time. Errors of its arguments are those of End, on all processes.

// A splitOp is one that has begun.
type splitOp struct {
	name string // of its calls, without "_begin" and "_end"
	stop context.CancelFunc
	done chan struct{}
	st   mpi.Status // valid when done is closed, as is err
	err  error
}

// ReadAllBegin begins a ReadAll (MPI_File_read_all_begin; MPI-4.1, 14.4.5).
func (f *File) ReadAllBegin(b mpi.Buffer) error {
	return f.beginSplit("MPI_File_read_all", false, individual, 0, b)
}

// WriteAllBegin begins a WriteAll (MPI_File_write_all_begin; MPI-4.1, 14.4.5).
func (f *File) WriteAllBegin(b mpi.Buffer) error {
	return f.beginSplit("MPI_File_write_all", true, individual, 0, b)
}

// ReadAtAllBegin begins a ReadAtAll (MPI_File_read_at_all_begin; MPI-4.1, 14.4.5).
func (f *File) ReadAtAllBegin(offset int64, b mpi.Buffer) error {
	return f.beginSplit("MPI_File_read_at_all", false, explicit, offset, b)
}

// WriteAtAllBegin begins a WriteAtAll (MPI_File_write_at_all_begin; MPI-4.1, 14.4.5).
func (f *File) WriteAtAllBegin(offset int64, b mpi.Buffer) error {
	return f.beginSplit("MPI_File_write_at_all", true, explicit, offset, b)
}

// ReadOrderedBegin begins a ReadOrdered (MPI_File_read_ordered_begin; MPI-4.1, 14.4.5).
func (f *File) ReadOrderedBegin(b mpi.Buffer) error {
	return f.beginSplit("MPI_File_read_ordered", false, common, 0, b)
}

// WriteOrderedBegin begins a WriteOrdered (MPI_File_write_ordered_begin; MPI-4.1, 14.4.5).
func (f *File) WriteOrderedBegin(b mpi.Buffer) error {
	return f.beginSplit("MPI_File_write_ordered", true, common, 0, b)
}

// beginSplit begins an operation whose two calls are name plus "_begin" and name plus "_end".
func (f *File) beginSplit(name string, write bool, from place, offset int64, b mpi.Buffer) error {
	call := f.enterPart(name, "_begin", &b)
	return f.leave(call, f.startSplit(name, write, from, offset, b))
}

func (f *File) startSplit(name string, write bool, from place, offset int64, b mpi.Buffer) error {
	ctx, stop := context.WithCancel(context.Background())
	s := &splitOp{name: name, stop: stop, done: make(chan struct{})}
	f.mu.Lock()
	busy := f.split != nil
	if !busy {
		f.split = s
	}
	f.mu.Unlock()
	if busy {
		stop()
		return errclass.New(errclass.Request, "a split collective operation has begun already: call End first")
	}
	o := f.prepareAll(write, from, offset, b)
	f.running.Add(1)
	go func() {
		defer f.running.Done()
		s.st, s.err = o.runTogether(ctx)
		close(s.done)
	}()
	return nil
}

// End completes the split collective operation that has begun, and returns its result
// (MPI_File_read_all_end, MPI_File_read_at_all_end, MPI_File_read_ordered_end,
// MPI_File_write_all_end, MPI_File_write_at_all_end, MPI_File_write_ordered_end; MPI-4.1, 14.4.5).
// If ctx ends, the operation is abandoned.
func (f *File) End(ctx context.Context) (mpi.Status, error) {
	f.mu.Lock()
	s := f.split
	f.split = nil
	f.mu.Unlock()
	if s == nil {
		return status(0), f.leave(f.enterPart("MPI_File_read_all", "_end", nil), errclass.New(errclass.Request, "no split collective operation has begun: call one with Begin first"))
	}
	call := f.enterPart(s.name, "_end", nil)
	defer s.stop()
	select {
	case <-s.done:
	case <-ctx.Done():
		s.stop()
		<-s.done
		if ctxEnded(s.err) {
			s.err = ctx.Err()
		}
	}
	return s.st, f.leave(call, s.err)
}
