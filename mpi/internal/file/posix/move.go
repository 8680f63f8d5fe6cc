package posix

import (
	"context"
	"errors"
	"io"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/sieve"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
)

// Read implements storage.File.
func (f *File) Read(ctx context.Context, l ranges.List, mem []byte, o storage.Options) (n int64, err error) {
	for step := range plan(l, o) {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		got, err := f.readStep(step, mem[step.Pos:])
		n += got
		if err != nil || got < step.List.Bytes() {
			return n, f.fail(err, "read")
		}
	}
	return n, nil
}

// plan divides an operation into steps.
func plan(l ranges.List, o storage.Options) func(func(sieve.Step) bool) {
	if o.Sieve == storage.Disable {
		return func(yield func(sieve.Step) bool) {
			if len(l) > 0 {
				yield(sieve.Step{List: l})
			}
		}
	}
	return sieve.Plan(l, o.BufferBytes, o.Sieve == storage.Enable)
}

// readStep reads the ranges of a step into mem. n is how many bytes the file has of them.
func (f *File) readStep(step sieve.Step, mem []byte) (n int64, err error) {
	if !step.Whole {
		for off, length := range step.List.All() {
			got, err := f.readAt(mem[n:n+length], off)
			n += got
			if err != nil || got < length {
				return n, err
			}
		}
		return n, nil
	}
	low, high := step.List.Hull()
	buf := f.buffer(high - low)
	defer f.recycle(buf)
	got, err := f.readAt(buf, low)
	if err != nil {
		return 0, err
	}
	for off, length := range step.List.All() {
		have := max(0, min(length, low+got-off))
		n += int64(copy(mem[n:], buf[off-low:off-low+have]))
		if have < length {
			break
		}
	}
	return n, nil
}

// readAt reads one range. It may read less, if the file ends in the range.
func (f *File) readAt(b []byte, off int64) (int64, error) {
	n, err := f.f.ReadAt(b, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return int64(n), err
}

// Write implements storage.File.
func (f *File) Write(ctx context.Context, l ranges.List, mem []byte, o storage.Options) error {
	if !f.readable || f.noLocks.Load() && !o.Locked {
		o.Sieve = storage.Disable
	}
	for step := range plan(l, o) {
		if err := f.writeStep(ctx, step, mem[step.Pos:], o.Locked); err != nil {
			return f.fail(err, "write")
		}
	}
	return nil
}

// writeStep writes the ranges of a step from mem.
func (f *File) writeStep(ctx context.Context, step sieve.Step, mem []byte, locked bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	low, high := step.List.Hull()
	if !locked {
		unlock, err := f.Lock(ctx, low, high, !step.Whole && f.readable)
		switch {
		case err == nil:
			defer unlock()
		case f.noLocks.Load():
			step.Whole = false // without locks, no rank may sieve this file
		default:
			return err
		}
	}
	if !step.Whole {
		for off, length := range step.List.All() {
			if _, err := f.f.WriteAt(mem[:length], off); err != nil {
				return err
			}
			mem = mem[length:]
		}
		return nil
	}
	buf := f.buffer(high - low)
	defer f.recycle(buf)
	got, err := f.readAt(buf, low)
	if err != nil {
		return err
	}
	clear(buf[got:])
	for off, length := range step.List.All() {
		copy(buf[off-low:], mem[:length])
		mem = mem[length:]
	}
	_, err = f.f.WriteAt(buf, low)
	return err
}
