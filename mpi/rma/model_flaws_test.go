package rma_test

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// flaws are windows that do one thing wrong.
var flaws = map[string]func(w *rma.Win) window{
	"a flush does not wait":           func(w *rma.Win) window { return noFlush{w} },
	"a local flush does not wait":     func(w *rma.Win) window { return noLocalFlush{w} },
	"accumulates are not atomic":      func(w *rma.Win) window { return notAtomic{w} },
	"fetches are not atomic":          func(w *rma.Win) window { return fetchNotAtomic{w} },
	"exclusive locks are shared":      func(w *rma.Win) window { return sharedOnly{w} },
	"locks are ignored":               func(w *rma.Win) window { return noLocks{w} },
	"a swap does not compare":         func(w *rma.Win) window { return noCompare{w} },
	"accumulates change their order":  func(w *rma.Win) window { return &outOfOrder{Win: w} },
	"a put ends before the last byte": func(w *rma.Win) window { return shortPut{w} },
	"gets are forgotten":              func(w *rma.Win) window { return lostGet{w} },
	"puts are forgotten":              func(w *rma.Win) window { return lostPut{w} },
}

type noFlush struct{ *rma.Win }

func (noFlush) Flush(context.Context, int) error { return nil }

type noLocalFlush struct{ *rma.Win }

func (noLocalFlush) FlushLocal(context.Context, int) error { return nil }

type notAtomic struct{ *rma.Win }

func (w notAtomic) Accumulate(b mpi.Buffer, to rma.Target, op *mpi.Op) mpi.Request {
	if _, _, n, _, err := b.Memory(); op != mpi.Sum || n != 1 || err != nil {
		return w.Win.Accumulate(b, to, op)
	}
	return sumApart(w.Win, b, new(int64), to)
}

// sumApart adds without atomicity: by a fetch and a replacement. Each is atomic, so that the race detector has nothing to say.
func sumApart(w *rma.Win, b mpi.Buffer, old *int64, to rma.Target) mpi.Request {
	if _, err := w.FetchAndOp(mpi.Value(old), mpi.Value(old), to, mpi.NoOp).Wait(bg); err != nil {
		return w.Get(mpi.Value(old), to) // fails again
	}
	sum := *old
	if err := mpi.ReduceLocal(b, mpi.Value(&sum), mpi.Sum); err != nil {
		panic(err) // both are one number
	}
	return w.Accumulate(mpi.Value(&sum), to, mpi.Replace)
}

type fetchNotAtomic struct{ *rma.Win }

func (w fetchNotAtomic) FetchAndOp(b, result mpi.Buffer, to rma.Target, _ *mpi.Op) mpi.Request {
	var old int64
	r := sumApart(w.Win, b, &old, to)
	if err := mpi.ReduceLocal(mpi.Value(&old), result, mpi.Replace); err != nil {
		panic(err)
	}
	return r
}

type sharedOnly struct{ *rma.Win }

func (w sharedOnly) Lock(ctx context.Context, _ rma.LockType, rank int, a ...rma.Assert) error {
	return w.Win.Lock(ctx, rma.LockShared, rank, a...)
}

type noLocks struct{ *rma.Win }

func (w noLocks) Lock(ctx context.Context, how rma.LockType, rank int, _ ...rma.Assert) error {
	return w.Win.Lock(ctx, how, rank, rma.NoCheck)
}

type noCompare struct{ *rma.Win }

func (w noCompare) CompareAndSwap(next, _, result mpi.Buffer, to rma.Target) mpi.Request {
	return w.FetchAndOp(next, result, to, mpi.Replace)
}

// outOfOrder makes the first of two accumulates with Replace after the second.
type outOfOrder struct {
	*rma.Win
	first mpi.Buffer
	held  bool
}

func (w *outOfOrder) Accumulate(b mpi.Buffer, to rma.Target, op *mpi.Op) mpi.Request {
	if op != mpi.Replace {
		return w.Win.Accumulate(b, to, op)
	}
	if w.held = !w.held; w.held {
		w.first = b
		return mpi.Request{}
	}
	w.Win.Accumulate(b, to, op)
	return w.Win.Accumulate(w.first, to, op)
}

type shortPut struct{ *rma.Win }

func (w shortPut) Put(b mpi.Buffer, to rma.Target) mpi.Request {
	if mem, _, n, _, err := b.Memory(); err == nil && n > 8 && len(mem) == n {
		last := mem[n-1]
		mem[n-1] = 0
		defer func() { mem[n-1] = last }()
		r := w.Win.Put(b, to)
		_, _ = r.Wait(bg) // the byte may be used until then
		return mpi.Request{}
	}
	return w.Win.Put(b, to)
}

type lostGet struct{ *rma.Win }

func (lostGet) Get(mpi.Buffer, rma.Target) mpi.Request { return mpi.Request{} }

type lostPut struct{ *rma.Win }

func (lostPut) Put(mpi.Buffer, rma.Target) mpi.Request { return mpi.Request{} }
