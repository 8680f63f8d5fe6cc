package file

import (
	"context"
	"hash/fnv"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/file/internal/view"
)

// A Datarep is how data is represented in a file (MPI-4.1, 14.5).
type Datarep string

// The representations. Internal is the same as Native: every process of this library has the same.
const (
	Native     Datarep = "native"     // as in memory
	Internal   Datarep = "internal"   // as any process of this library reads it
	External32 Datarep = "external32" // big-endian, as every MPI library reads it
)

// DisplacementCurrent, as a displacement, is the place of the shared pointer. A file with
// ModeSequential has no other (MPI_DISPLACEMENT_CURRENT; MPI-4.1, 14.3).
const DisplacementCurrent int64 = -1 << 62

// seen is what a process sees of a file.
type seen struct {
	view *view.View
	rep  Datarep
}

// bytesFrom is the view of all bytes from an offset on.
func bytesFrom(disp int64) seen {
	v, err := view.New(disp, datatype.Byte, datatype.Byte)
	if err != nil {
		panic("mpi/file: the view of bytes is wrong: " + err.Error())
	}
	return seen{v, Native}
}

// SetView changes the process's view, and sets its pointer and the shared one to 0
// (MPI_File_set_view; MPI-4.1, 14.3). The view begins at disp, in bytes, and repeats the filetype,
// which consists of etypes, in ascending order. It may overlap itself only if the file is only read.
// It is collective; the size of the etype and the representation must be the same everywhere. No
// operation may be under way. info has hints, or is nil.
func (f *File) SetView(ctx context.Context, disp int64, etype, filetype *datatype.Type, rep Datarep, info *mpi.Info) error {
	return f.fail(f.inTurn(ctx, func(ctx context.Context, err error) error {
		return f.setView(ctx, err, disp, etype, filetype, rep, info)
	}))
}

func (f *File) setView(ctx context.Context, err error, disp int64, etype, filetype *datatype.Type, rep Datarep, info *mpi.Info) error {
	if err == nil {
		err = f.checkDisp(disp)
	}
	if err == nil && disp == DisplacementCurrent {
		disp, err = f.sharedPlace(ctx)
	}
	set := seen{rep: rep}
	if err == nil {
		set.view, err = view.New(disp, etype, filetype)
	}
	switch {
	case err != nil:
	case rep != Native && rep != Internal && rep != External32:
		err = errclass.New(errclass.UnsupportedDatarep, "the representation %q is unknown: take Native, Internal or External32", rep)
	case !set.view.Strict() && f.mode&ModeRdonly == 0:
		err = errclass.New(errclass.Type, "the filetype %v overlaps itself: this is possible only in files that are only read", filetype)
	}
	size := int64(0)
	if err == nil {
		size = int64(etype.Size())
	}
	all, err := f.team.Agree(ctx, err, size, repNumber(rep))
	if err != nil {
		return err
	}
	for rank := range f.team.Size() {
		if all[2*rank] != all[0] || all[2*rank+1] != all[1] {
			return errclass.New(errclass.NotSame, "rank %d gives another size of the etype or another representation than rank 0: give the same everywhere", rank)
		}
	}
	hints, err := f.newHints(ctx, info, nil)
	if err != nil {
		return err
	}
	if f.team.Rank() == 0 {
		if err = f.desk.Set(ctx, 0); err != nil {
			return err
		}
	}
	f.mu.Lock()
	f.seen, f.pointer, f.hints = set, 0, hints
	f.mu.Unlock()
	return f.team.Barrier(ctx)
}

// repNumber is a number for comparing representations.
func repNumber(rep Datarep) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(rep)) // never fails
	return int64(h.Sum64())
}

func (f *File) checkDisp(disp int64) error {
	if (disp == DisplacementCurrent) != (f.mode&ModeSequential != 0) {
		return errclass.New(errclass.Arg, "a file with ModeSequential has a displacement of DisplacementCurrent, and no other file has that")
	}
	return nil
}

// sharedPlace returns the place of the shared pointer, in bytes of the file.
func (f *File) sharedPlace(ctx context.Context) (int64, error) {
	off, err := f.desk.Add(ctx, 0)
	if err != nil {
		return 0, err
	}
	return f.ByteOffset(off)
}

// View returns the view of this process (MPI_File_get_view; MPI-4.1, 14.3).
func (f *File) View() (disp int64, etype, filetype *datatype.Type, rep Datarep) {
	s := f.look()
	return s.view.Disp(), s.view.Etype(), s.view.Filetype(), s.rep
}

// look returns what this process sees.
func (f *File) look() seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// TypeExtent returns the extent of a type in the representation of the file
// (MPI_File_get_type_extent; MPI-4.1, 14.5.1). It is the same as in memory in all of them.
func (f *File) TypeExtent(t *datatype.Type) (int64, error) {
	if t == nil {
		return 0, f.fail(errclass.New(errclass.Type, "the datatype is nil: give one of package datatype"))
	}
	_, extent := t.Extent()
	return int64(extent), nil
}
