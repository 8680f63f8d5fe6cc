package file

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// An operation is a read or write that has been called and checked. What must happen in the order of
// calls has happened: its turns are taken, and the individual pointer has moved.
type operation struct {
	f      *File
	job    *job // nil if err is set
	err    error
	shared *turn // of an operation with the shared pointer
	turn   turn  // of a collective operation
}

// prepare checks an access, and takes its turn of the shared pointer.
func (f *File) prepare(write bool, from place, offset int64, b mpi.Buffer) *operation {
	o := &operation{f: f}
	o.job, o.err = f.job(write, from, offset, b)
	if from == common {
		t := f.sharing.join()
		o.shared = &t
	}
	return o
}

// prepareAll is prepare for a collective operation.
func (f *File) prepareAll(write bool, from place, offset int64, b mpi.Buffer) *operation {
	o := f.prepare(write, from, offset, b)
	o.turn = f.turns.join()
	return o
}

// runAlone runs an operation of this process.
func (o *operation) runAlone(ctx context.Context) (mpi.Status, error) {
	if o.err != nil {
		o.skip()
		return status(0), o.err
	}
	if o.shared != nil {
		off, err := o.f.takeShared(ctx, *o.shared, o.job.etypes())
		if err == nil {
			err = o.job.begin(off)
		}
		if err != nil {
			return status(0), err
		}
	}
	n, err := o.job.alone(ctx)
	return status(o.job.mem.Packed(n)), err
}

// skip ends the turn of the shared pointer, if the operation has one.
func (o *operation) skip() {
	if o.shared != nil {
		o.shared.skip()
	}
}

// runTogether runs a collective operation.
func (o *operation) runTogether(ctx context.Context) (mpi.Status, error) {
	if o.err == errClosed {
		o.skip()
		o.turn.skip()
		return status(0), o.err
	}
	done := make(chan int64, 1) // the operation may go on without this call
	err := o.f.runTurn(ctx, o.turn, func(ctx context.Context, err error) error {
		if o.err == nil {
			o.err = err
		}
		n, err := o.inTurn(ctx)
		done <- n
		return err
	})
	if err != nil {
		return status(0), err
	}
	return status(<-done), nil
}

func (o *operation) inTurn(ctx context.Context) (int64, error) {
	if o.shared != nil {
		etypes := int64(0)
		if o.err == nil {
			etypes = o.job.etypes()
		}
		off, err := o.f.takeOrdered(ctx, *o.shared, etypes, o.err)
		if err != nil {
			return 0, err
		}
		o.err = o.job.begin(off)
	}
	j := o.job
	if j == nil {
		j = &job{f: o.f}
	}
	n, err := j.together(ctx, o.err)
	if err != nil {
		return 0, err
	}
	return j.mem.Packed(n), nil
}

func (f *File) alone(ctx context.Context, name string, write bool, from place, offset int64, b mpi.Buffer) (mpi.Status, error) {
	call := f.enter(name, &b)
	st, err := f.prepare(write, from, offset, b).runAlone(ctx)
	return st, f.leave(call, err)
}

func (f *File) all(ctx context.Context, name string, write bool, from place, offset int64, b mpi.Buffer) (mpi.Status, error) {
	call := f.enter(name, &b)
	st, err := f.prepareAll(write, from, offset, b).runTogether(ctx)
	return st, f.leave(call, err)
}

func (f *File) begin(name string, write bool, from place, offset int64, b mpi.Buffer) mpi.Request {
	call := f.enter(name, &b)
	return f.request(call, true, func() (*operation, running) {
		o := f.prepare(write, from, offset, b)
		return o, o.runAlone
	})
}

func (f *File) beginAll(name string, write bool, from place, offset int64, b mpi.Buffer) mpi.Request {
	call := f.enter(name, &b)
	return f.request(call, false, func() (*operation, running) {
		o := f.prepareAll(write, from, offset, b)
		return o, o.runTogether
	})
}
