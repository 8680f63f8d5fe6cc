package file

import (
	"context"
	"encoding/binary"
	"io"
	"math"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/view"
)

// Seek sets this process's pointer (MPI_File_seek; MPI-4.1, 14.4.3). offset counts etypes, from the
// beginning of the view (io.SeekStart), from the pointer (io.SeekCurrent) or from the end of the
// file (io.SeekEnd).
func (f *File) Seek(ctx context.Context, offset int64, whence int) error {
	call := f.enter("MPI_File_seek", nil)
	err := f.mode.random()
	if err == nil {
		err = f.open1()
	}
	if err == nil {
		err = f.seek(ctx, offset, whence)
	}
	return f.leave(call, err)
}

func (f *File) seek(ctx context.Context, offset int64, whence int) error {
	s := f.look()
	to, err := f.target(ctx, s.view, offset, whence, func() (int64, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.pointer, nil
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pointer = to
	return nil
}

// target returns where a seek goes. current returns the pointer.
func (f *File) target(ctx context.Context, v *view.View, offset int64, whence int, current func() (int64, error)) (int64, error) {
	var base int64
	var err error
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		base, err = current()
	case io.SeekEnd:
		var size int64
		if size, err = f.store.Size(ctx); err == nil {
			base, err = endOfFile(v, size)
		}
	default:
		err = errclass.New(errclass.Arg, "whence is %d, give io.SeekStart, io.SeekCurrent or io.SeekEnd", whence)
	}
	switch {
	case err != nil:
		return 0, err
	case offset > math.MaxInt64-base, base+offset < 0:
		return 0, errclass.New(errclass.Arg, "%d etypes from %d on is no place in the file", offset, base)
	}
	return base + offset, nil
}

// endOfFile returns the first etype of the view at or behind the end of the file.
func endOfFile(v *view.View, size int64) (int64, error) {
	d := v.Below(size)
	if d == math.MaxInt64 {
		return 0, errclass.New(errclass.Arg, "the end of the file is at a place in the view that does not fit into 64 bits")
	}
	return v.Etypes(d), nil
}

// Position returns this process's pointer, in etypes (MPI_File_get_position; MPI-4.1, 14.4.3).
func (f *File) Position() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pointer
}

// ByteOffset returns which byte of the file an offset in the view is (MPI_File_get_byte_offset;
// MPI-4.1, 14.4.3).
func (f *File) ByteOffset(offset int64) (int64, error) {
	call := f.enter("MPI_File_get_byte_offset", nil)
	d, err := f.place(offset)
	return d, f.leave(call, err)
}

// place is ByteOffset within a call.
func (f *File) place(offset int64) (int64, error) {
	if offset < 0 {
		return 0, errclass.New(errclass.Arg, "the offset is %d, give 0 or more", offset)
	}
	v := f.look().view
	d, err := v.Bytes(offset)
	if err == nil {
		d, err = v.Offset(d)
	}
	return d, err
}

// SeekShared sets the shared pointer, on all processes, which must give the same
// (MPI_File_seek_shared; MPI-4.1, 14.4.4).
func (f *File) SeekShared(ctx context.Context, offset int64, whence int) error {
	call := f.enter("MPI_File_seek_shared", nil)
	return f.leave(call, f.seekShared(ctx, offset, whence))
}

func (f *File) seekShared(ctx context.Context, offset int64, whence int) error {
	if err := f.open1(); err != nil {
		return err
	}
	mine := f.sharing.join()
	return f.inTurn(ctx, func(ctx context.Context, err error) error {
		if err := mine.wait(ctx); err != nil {
			mine.skip()
			return err
		}
		defer mine.end()
		all, err := f.team.Agree(ctx, err, offset, int64(whence))
		if err != nil {
			return err
		}
		for rank := range f.team.Size() {
			if all[2*rank] != offset || all[2*rank+1] != int64(whence) {
				return errclass.New(errclass.NotSame, "rank %d seeks elsewhere: give the same offset and whence everywhere", rank)
			}
		}
		if f.team.Rank() == 0 {
			var to int64
			to, err = f.target(ctx, f.look().view, offset, whence, func() (int64, error) { return f.desk.Add(ctx, 0) })
			if err == nil {
				err = f.desk.Set(ctx, to)
			}
		}
		_, err = f.team.Agree(ctx, err)
		return err
	})
}

// PositionShared returns the shared pointer, in etypes (MPI_File_get_position_shared; MPI-4.1,
// 14.4.4).
func (f *File) PositionShared(ctx context.Context) (int64, error) {
	call := f.enter("MPI_File_get_position_shared", nil)
	err := f.open1()
	off := int64(0)
	if err == nil {
		off, err = f.takeShared(ctx, f.sharing.join(), 0)
	}
	return off, f.leave(call, err)
}

// takeShared moves the shared pointer in a turn of this process, and returns its old value.
func (f *File) takeShared(ctx context.Context, t turn, etypes int64) (int64, error) {
	if err := t.wait(ctx); err != nil {
		t.skip()
		return 0, err
	}
	defer t.end()
	return f.desk.Add(ctx, etypes)
}

// takeOrdered moves the shared pointer by what all ranks want, as part of a collective operation in
// its turn. It returns where this rank's part begins. err is an error of this rank's arguments.
func (f *File) takeOrdered(ctx context.Context, t turn, etypes int64, err error) (int64, error) {
	if err := t.wait(ctx); err != nil {
		t.skip()
		return 0, err
	}
	defer t.end()
	all, err := f.team.Agree(ctx, err, etypes)
	if err != nil {
		return 0, err
	}
	total, before := int64(0), int64(0)
	for rank, n := range all {
		if n > math.MaxInt64-total {
			return 0, errclass.New(errclass.Arg, "the ranks want more than an offset can count")
		}
		if rank == f.team.Rank() {
			before = total
		}
		total += n
	}
	var word [8]byte
	if f.team.Rank() == 0 {
		var old int64
		old, err = f.desk.Add(ctx, total)
		binary.LittleEndian.PutUint64(word[:], uint64(old))
		if err != nil {
			binary.LittleEndian.PutUint64(word[:], math.MaxUint64)
		}
	}
	if err := f.team.Bcast(ctx, word[:], 0); err != nil {
		return 0, err
	}
	old := binary.LittleEndian.Uint64(word[:])
	if old > math.MaxInt64 {
		return 0, errclass.New(errclass.Arg, "the shared file pointer would not fit into 64 bits")
	}
	return int64(old) + before, nil
}
