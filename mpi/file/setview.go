package file

import (
	"context"
	"hash/fnv"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/view"
)

// DisplacementCurrent, as a displacement, is the place of the shared pointer. A file with
// ModeSequential has no other (MPI_DISPLACEMENT_CURRENT; MPI-4.1, 14.3).
const DisplacementCurrent int64 = -1 << 62

// seen is a process's view of a file.
type seen struct {
	view            *view.View     // of the types in the file
	etype, filetype *datatype.Type // as they were given
	name            Datarep
	rep             *datatype.Representation // nil: bytes are as in memory
}

// bytesFrom is the view of all bytes from an offset on.
func bytesFrom(disp int64) seen {
	v, err := view.New(disp, datatype.Byte, datatype.Byte)
	if err != nil {
		panic("mpi/file: the view of bytes is wrong: " + err.Error())
	}
	return seen{view: v, etype: datatype.Byte, filetype: datatype.Byte, name: Native}
}

// SetView changes the process's view, and sets its pointer and the shared one to 0 (MPI_File_set_view;
// MPI-4.1, 14.3). The view begins at disp, in bytes, and repeats the filetype, which consists of
// etypes, in ascending order. It may overlap itself only if the file is only read. The call is
// collective; the size of the etype and the representation must be the same everywhere. No operation
// may be under way. info has hints, or is nil.
//
// The types are those of memory: the elements of the file have the sizes of the representation, and
// so have displacements and extents that count elements. Displacements in bytes are those of the file.
// Errors of a representation's functions, here and in reads and writes, have class ErrConversion.
func (f *File) SetView(ctx context.Context, disp int64, etype, filetype *datatype.Type, rep Datarep, info *mpi.Info) error {
	return f.collective(ctx, "MPI_File_set_view", func(ctx context.Context, err error) error {
		return f.setView(ctx, err, disp, seen{etype: etype, filetype: filetype, name: rep}, info)
	})
}

func (f *File) setView(ctx context.Context, err error, disp int64, set seen, info *mpi.Info) error {
	if err == nil {
		err = f.checkDisp(disp)
	}
	if err == nil && disp == DisplacementCurrent {
		disp, err = f.sharedPlace(ctx)
	}
	if err == nil {
		err = set.resolve(f.team.Process(), disp)
	}
	if err == nil && !set.view.Strict() && f.mode&ModeRdonly == 0 {
		err = errclass.New(errclass.Type, "the filetype %v overlaps itself: this is possible only in files that are only read", set.filetype)
	}
	size := int64(0)
	if err == nil {
		size = int64(set.view.Etype().Size())
	}
	all, err := f.team.Agree(ctx, err, size, repNumber(set.name))
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

// resolve makes the view of a seen that has types and the name of a representation.
func (s *seen) resolve(p *mpi.Process, disp int64) (err error) {
	if s.rep, err = representationOf(p, s.name); err != nil {
		return err
	}
	etype, filetype := s.etype, s.filetype
	if s.rep != nil && etype != nil && filetype != nil {
		if etype, err = etype.In(s.rep); err != nil {
			return err
		}
		if filetype, err = filetype.In(s.rep); err != nil {
			return err
		}
	}
	s.view, err = view.New(disp, etype, filetype)
	return err
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
	return f.place(off)
}

// View returns the view of this process (MPI_File_get_view; MPI-4.1, 14.3).
func (f *File) View() (disp int64, etype, filetype *datatype.Type, rep Datarep) {
	s := f.look()
	return s.view.Disp(), s.etype, s.filetype, s.name
}

// look returns what this process sees.
func (f *File) look() seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// TypeExtent returns the extent of a type in the representation of the file
// (MPI_File_get_type_extent; MPI-4.1, 14.5.1).
func (f *File) TypeExtent(t *datatype.Type) (int64, error) {
	call := f.enter("MPI_File_get_type_extent", nil)
	s := f.look()
	extent, err := s.extent(t)
	return int64(extent), f.leave(call, err)
}

func (s *seen) extent(t *datatype.Type) (extent int, err error) {
	if t == nil {
		return 0, errclass.New(errclass.Type, "the datatype is nil: give one of package datatype")
	}
	if s.rep != nil {
		if t, err = t.In(s.rep); err != nil {
			return 0, err
		}
	}
	_, extent = t.Extent()
	return extent, nil
}
