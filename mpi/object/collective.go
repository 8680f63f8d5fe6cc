package object

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// intra returns an error for inter-communicators, over which no value travels.
func intra(c *mpi.Comm) error {
	if c.IsInter() {
		return errclass.New(errclass.Comm, "values do not travel between the groups of an inter-communicator: merge it first")
	}
	return nil
}

// Bcast copies the root's *v to the *v of all processes (mpi.Comm.Bcast).
func Bcast[T any](ctx context.Context, c *mpi.Comm, v *T, root int) error {
	if err := intra(c); err != nil {
		return err
	}
	var b []byte
	var own error
	n := int64(missing)
	if c.Rank() == root {
		b, own = encode(v)
		n = lengthOf(b, own)
	}
	if err := c.Bcast(ctx, mpi.Value(&n), root); err != nil {
		return err
	}
	if own != nil {
		return own
	}
	if err := checkLength(n, root); err != nil {
		return err
	}
	if c.Rank() == root {
		return c.Bcast(ctx, mpi.Slice(b), root)
	}
	b = make([]byte, n)
	if err := c.Bcast(ctx, mpi.Slice(b), root); err != nil {
		return err
	}
	return decode(b, v, root)
}

// Gather collects the values of all processes, in rank order, on the root. Other processes get nil
// (mpi.Comm.Gatherv).
func Gather[T any](ctx context.Context, c *mpi.Comm, v T, root int) ([]T, error) {
	if err := intra(c); err != nil {
		return nil, err
	}
	b, own := encode(v)
	n := lengthOf(b, own)
	lengths := make([]int64, c.Size()) // matters at the root
	if err := c.Gather(ctx, mpi.Value(&n), mpi.Slice(lengths), root); err != nil {
		return nil, err
	}
	if c.Rank() != root {
		if err := c.Gatherv(ctx, mpi.Slice(b), mpi.InPlace, root); err != nil {
			return nil, err
		}
		return nil, own
	}
	in, err := newParts(lengths)
	if err != nil {
		in = &parts{counts: counts(lengths)}
		in.all = make([]byte, total(in.counts))
	}
	if gerr := c.Gatherv(ctx, mpi.Slice(b), in.buffer(), root); gerr != nil {
		return nil, gerr
	}
	if err != nil {
		return nil, first(own, err)
	}
	return decodeAll[T](in)
}

// Scatter gives vs[i] of the root to rank i (mpi.Comm.Scatterv). vs matters only at the root, and has
// a value for each process.
func Scatter[T any](ctx context.Context, c *mpi.Comm, vs []T, root int) (v T, err error) {
	if err := intra(c); err != nil {
		return v, err
	}
	var out *parts
	var own error
	lengths := make([]int64, c.Size())
	if c.Rank() == root {
		out, own = encodeAll(vs, c.Size())
		if own != nil {
			for i := range lengths {
				lengths[i] = missing
			}
		} else {
			for i, n := range out.counts {
				lengths[i] = int64(n)
			}
		}
	}
	var n int64
	if err := c.Scatter(ctx, mpi.Slice(lengths), mpi.Value(&n), root); err != nil {
		return v, err
	}
	if own != nil {
		return v, own
	}
	if err := checkLength(n, root); err != nil {
		return v, err
	}
	b := make([]byte, n)
	give := mpi.InPlace
	if out != nil {
		give = out.buffer()
	}
	if err := c.Scatterv(ctx, give, mpi.Slice(b), root); err != nil {
		return v, err
	}
	return v, decode(b, &v, root)
}

// Allgather collects the values of all processes, in rank order, on every process
// (mpi.Comm.Allgather).
func Allgather[T any](ctx context.Context, c *mpi.Comm, v T) ([]T, error) {
	if err := intra(c); err != nil {
		return nil, err
	}
	b, own := encode(v)
	n := lengthOf(b, own)
	lengths := make([]int64, c.Size())
	if err := c.Allgather(ctx, mpi.Value(&n), mpi.Slice(lengths)); err != nil {
		return nil, err
	}
	in, err := newParts(lengths)
	if err != nil { // in every process
		return nil, first(own, err)
	}
	if err := c.Allgather(ctx, mpi.Slice(b), in.buffer()); err != nil {
		return nil, err
	}
	return decodeAll[T](in)
}

// Alltoall gives vs[i] to rank i, and returns what every process gave to this one, in rank order
// (mpi.Comm.Alltoall).
func Alltoall[T any](ctx context.Context, c *mpi.Comm, vs []T) ([]T, error) {
	if err := intra(c); err != nil {
		return nil, err
	}
	out, own := encodeAll(vs, c.Size())
	told := make([]int64, c.Size())
	for i := range told {
		if told[i] = missing; own == nil {
			told[i] = int64(out.counts[i])
		}
	}
	lengths := make([]int64, c.Size())
	if err := c.Alltoall(ctx, mpi.Slice(told), mpi.Slice(lengths)); err != nil {
		return nil, err
	}
	in, err := newParts(lengths)
	wrong := int32(0)
	if err != nil || own != nil {
		wrong = 1
	}
	// A process that cannot take part must not leave the others waiting.
	if err := c.Allreduce(ctx, mpi.InPlace, mpi.Value(&wrong), mpi.Max); err != nil {
		return nil, err
	}
	if wrong != 0 {
		return nil, first(own, err, errElsewhere)
	}
	if err := c.Alltoall(ctx, out.buffer(), in.buffer()); err != nil {
		return nil, err
	}
	return decodeAll[T](in)
}

var errElsewhere = errclass.New(errclass.Type, "a process of the communicator has no values to send: its own error says why")

// Reduce combines the values of all processes in rank order, with a function that need not be
// commutative, and returns the result on the root. Other processes get the zero value. All values
// travel to the root, which calls the function (mpi.Comm.Reduce is for numbers).
func Reduce[T any](ctx context.Context, c *mpi.Comm, v T, combine func(a, b T) T, root int) (result T, err error) {
	all, err := Gather(ctx, c, v, root)
	if err != nil || c.Rank() != root {
		return result, err
	}
	return fold(all, combine), nil
}

// Allreduce is Reduce with the result in every process, each of which calls the function on all
// values.
func Allreduce[T any](ctx context.Context, c *mpi.Comm, v T, combine func(a, b T) T) (result T, err error) {
	all, err := Allgather(ctx, c, v)
	if err != nil {
		return result, err
	}
	return fold(all, combine), nil
}

func fold[T any](all []T, combine func(a, b T) T) T {
	result := all[0] // a communicator has at least one process
	for _, v := range all[1:] {
		result = combine(result, v)
	}
	return result
}

// first returns the first of some errors that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
