package file

import (
	"context"
	"math"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/exchange"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/twophase"
)

// A collective is a collective operation. err is an error of this rank; with one, the operation only
// tells the other ranks, by the first agreement in it.
type collective func(ctx context.Context, err error) error

// inTurn runs a collective operation when those that were called before have ended.
func (f *File) inTurn(ctx context.Context, do collective) error {
	if err := f.open1(); err != nil {
		return err
	}
	return f.runTurn(ctx, f.turns.join(), do)
}

// runTurn runs a collective operation in its turn. If ctx has ended before, it only tells the other
// ranks, without waiting for them. If ctx ends later, the team is broken.
func (f *File) runTurn(ctx context.Context, t turn, do collective) error {
	err := t.wait(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		f.running.Add(1)
		go func() {
			defer f.running.Done()
			t.come()
			defer t.end()
			_ = do(context.WithoutCancel(ctx), errclass.Wrap(errclass.Revoked, err, "this rank has abandoned the operation"))
		}()
		return err
	}
	defer t.end()
	if err = do(ctx, nil); ctxEnded(err) {
		return f.team.Break(err)
	}
	return err
}

// sparseMax is how many bytes of the file there may be for each byte of a collective operation in
// two phases. With more, aggregators would handle windows in which no rank has bytes.
const sparseMax = 256

// together runs a job on all ranks, as part of a collective operation in its turn. err is an error
// of this rank's arguments. It returns how many bytes this rank has read or written.
func (j *job) together(ctx context.Context, err error) (int64, error) {
	f := j.f
	hull, strict, bytes := twophase.Span{}, int64(1), int64(0)
	if err == nil && j.mem.Size() > 0 {
		bytes = j.mem.Size()
		hull = j.hull()
		if !j.view.Strict() {
			strict = 0
		}
	}
	const words = 4
	all, err := f.team.Agree(ctx, err, hull.Low, hull.High, bytes, strict)
	if err != nil {
		return 0, err
	}
	hulls, total, ordered := make([]twophase.Span, f.team.Size()), 0.0, true
	for i, w := range slices.Collect(slices.Chunk(all, words)) {
		hulls[i] = twophase.Span{Low: w[0], High: w[1]}
		total += float64(w[2])
		ordered = ordered && w[3] == 1
	}
	span := twophase.Hull(hulls)
	if span.Empty() {
		return 0, nil
	}
	way := j.hints.cbRead
	if j.write {
		way = j.hints.cbWrite
	}
	if ordered && !j.atomic && way != storage.Disable && float64(span.High-span.Low) <= sparseMax*total &&
		(way == storage.Enable || twophase.Interleaved(hulls)) {
		return j.twoPhases(ctx, hulls)
	}
	n, err := j.alone(ctx)
	if ctxEnded(err) {
		return n, err
	}
	_, err = f.team.Agree(ctx, err)
	return n, err
}

// twoPhases runs a job through aggregators.
func (j *job) twoPhases(ctx context.Context, hulls []twophase.Span) (int64, error) {
	f := j.f
	options := j.options()
	options.BufferBytes = j.hints.cbBuffer
	op := &exchange.Op{
		Team: f.team, Store: f.store, Options: options, Pool: &f.pool, Near: &f.near,
		Plan: twophase.New(hulls, j.hints.aggregators(f.team.Size()), f.store.Layout().Unit, j.hints.cbBuffer),
		View: j.view, Start: j.start, Mem: j.mem,
	}
	end, size := int64(math.MaxInt64), int64(math.MaxInt64)
	var err, serr error
	if j.write {
		f.written.Store(true)
		err = op.Write(ctx)
	} else {
		if j.mem.Converts() {
			// Bytes behind the end are undefined, so they must not be converted.
			size, serr = f.store.Size(ctx)
			j.mem.Limit(j.view.Below(size) - j.start)
		}
		end, err = op.Read(ctx)
		end = min(end, size)
	}
	for _, e := range []error{serr, j.mem.Err()} {
		if err == nil {
			err = e
		}
	}
	if f.team.Broken() != nil && err != nil {
		return 0, err
	}
	all, err := f.team.Agree(ctx, err, end)
	if err != nil {
		return 0, err
	}
	if end = slices.Min(all); end == math.MaxInt64 {
		return j.mem.Size(), nil
	}
	return max(0, min(j.view.Below(end)-j.start, j.mem.Size())), nil
}
