package file

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/twophase"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/view"
	"github.com/viaduct-hpc/viaduct/mpi/internal/memory"
)

// A place says where an access begins.
type place uint8

const (
	individual place = iota // at this process's pointer
	explicit                // at an offset
	common                  // at the shared pointer
)

// A job is one read or write: its memory, and where it begins in the view. A job with the shared
// pointer learns that later.
type job struct {
	f     *File
	write bool
	mem   *memory.Memory
	view  *view.View
	start int64 // bytes of the view
	hints hints

	atomic, byDesk bool
}

// job checks the arguments of an access, and moves the individual pointer.
func (f *File) job(write bool, from place, off int64, b mpi.Buffer) (*job, error) {
	err := f.mode.may(write)
	if err == nil && from != common {
		err = f.mode.random()
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	mem, err := memory.Of(b, f.seen.rep, !write)
	if err != nil {
		return nil, err
	}
	size := int64(f.seen.view.Etype().Size())
	if mem.Size()%size != 0 {
		return nil, errclass.New(errclass.Arg, "the buffer has %d bytes, and the view is divided into etypes of %d: read and write whole ones", mem.Size(), size)
	}
	j := &job{f: f, write: write, mem: mem, view: f.seen.view, hints: f.hints, atomic: f.atomic, byDesk: f.byDesk}
	switch {
	case from == common:
		return j, nil
	case from == individual:
		off = f.pointer
	case off < 0:
		return nil, errclass.New(errclass.Arg, "the offset is %d, give 0 or more", off)
	}
	if err := j.begin(off); err != nil {
		return nil, err
	}
	if from == individual {
		f.pointer += mem.Size() / size
	}
	return j, nil
}

// begin sets where the job begins, in etypes.
func (j *job) begin(off int64) (err error) {
	if j.start, err = j.view.Bytes(off); err != nil {
		return err
	}
	return j.view.Check(j.start, j.mem.Size())
}

// etypes returns the length of the job.
func (j *job) etypes() int64 { return j.mem.Size() / int64(j.view.Etype().Size()) }

func (j *job) options() storage.Options {
	o := j.hints.options(j.write)
	o.Locked = j.atomic
	return o
}

// hull returns a span of the file with all bytes of the job, which has some. If the view is strict,
// it is the smallest.
func (j *job) hull() twophase.Span {
	low, high := j.view.Hull(j.start, j.mem.Size())
	return twophase.Span{Low: low, High: high}
}

// runsMax is how many runs of ranges are made at a time.
const runsMax = 1 << 15

// pieceMax is how many bytes go to or from the user's memory directly in one step.
const pieceMax = 1 << 30

// alone runs the job without the other ranks. It returns how many bytes were read or written.
func (j *job) alone(ctx context.Context) (int64, error) {
	if j.mem.Size() == 0 {
		return 0, nil
	}
	if j.write {
		j.f.written.Store(true)
	}
	if j.atomic {
		unlock, err := j.lock(ctx)
		if err != nil {
			return 0, err
		}
		defer unlock()
	}
	return j.move(ctx)
}

// lock locks all bytes of the job for an atomic access.
func (j *job) lock(ctx context.Context) (unlock func(), err error) {
	h := j.hull()
	if l, ok := j.f.store.(storage.Locker); ok && !j.byDesk {
		return l.Lock(ctx, h.Low, h.High, !j.write)
	}
	return j.f.desk.Lock(ctx, h.Low, h.High, !j.write)
}

// move reads or writes the bytes, in steps.
func (j *job) move(ctx context.Context) (done int64, err error) {
	o := j.options()
	var staging []byte
	for size := j.mem.Size(); done < size; {
		step := min(size-done, pieceMax)
		_, direct := j.mem.Piece(done, done)
		if !direct {
			step = min(step, o.BufferBytes)
		}
		list, n := j.view.Ranges(j.start+done, step, runsMax)
		mem, direct := j.mem.Piece(done, done+n)
		if !direct {
			if staging == nil {
				staging = make([]byte, min(o.BufferBytes, size))
			}
			mem = staging[:n]
		}
		if j.write {
			if !direct {
				j.mem.Pack(mem, done)
				if err := j.mem.Err(); err != nil {
					return done, err
				}
			}
			if err := j.f.store.Write(ctx, list, mem, o); err != nil {
				return done, err
			}
			done += n
			continue
		}
		got, err := j.f.store.Read(ctx, list, mem, o)
		if !direct {
			j.mem.Unpack(done, mem[:got])
		}
		done += got
		if err == nil {
			err = j.mem.Err()
		}
		if err != nil || got < n {
			return done, err
		}
	}
	return done, nil
}
