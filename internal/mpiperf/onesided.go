package mpiperf

import (
	"encoding/binary"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// A onesided is a test of one-sided operations: rank 0 begins one at rank 1 and completes it; rank 1
// takes part only in fences.
type onesided struct {
	fenced bool // completed by fences; otherwise by a flush
	op     func(o *access) mpi.Request
	// filled and checked are the contents of a round: fill and check of a job.
	filled  func(o *access, round int)
	checked func(o *access, round int) error
}

// An access is a rank's part in a onesided.
type access struct {
	*onesided
	c       *mpi.Comm
	w       *rma.Win
	me      int
	out, in []byte
}

// target is the rank whose memory is accessed.
const target = 1

var there = block{from: 0, to: target}

func (o *onesided) open(c *mpi.Comm, s setup) (job, error) {
	var w *rma.Win
	var err error
	if s.created {
		w, err = rma.Create(forever, c, mpi.Slice(touched(s.size)), 1, nil)
	} else {
		w, err = rma.Allocate(forever, c, s.size, 1, nil)
	}
	if err != nil {
		return nil, err
	}
	a := &access{onesided: o, c: c, w: w, me: c.Rank(), out: touched(s.size), in: touched(s.size)}
	copy(w.Memory(), a.out)
	if o.fenced {
		return a, w.Fence(forever)
	}
	return a, w.LockAll(forever)
}

func (a *access) ready(int) error { return nil }

func (a *access) once() error {
	if a.me == 0 {
		a.op(a) // its error is that of the fence or flush, too
	}
	switch {
	case a.fenced:
		return a.w.Fence(forever)
	case a.me == 0:
		return a.w.Flush(forever, target)
	}
	return nil
}

// close ends the window.
func (a *access) close() error {
	var err error
	if a.fenced {
		err = a.w.Fence(forever, rma.NoSucceed)
	} else {
		err = a.w.UnlockAll(forever)
	}
	if err != nil {
		return err
	}
	return a.w.Free(forever)
}

func (a *access) fill(round int) { a.filled(a, round) }

// check waits for rank 0, because rank 1 does not take part in the operations.
func (a *access) check(round int) error {
	if err := a.c.Barrier(forever); err != nil {
		return err
	}
	if err := a.w.Sync(); err != nil {
		return err
	}
	return a.checked(a, round)
}

// The tests: each begins an operation and completes it, by a flush, or fence by a fence. fetch_and_op is a
// get-accumulate if there is more than one number.
var accesses = []spec{
	oneSidedTest("put", 1, onesided{op: doPut, filled: fillPut, checked: checkPut}),
	oneSidedTest("get", 1, onesided{op: doGet, filled: fillGet, checked: checkGet}),
	oneSidedTest("fetch_and_op", floatBytes, onesided{op: doFetch, filled: fillFetch, checked: checkFetch}),
	oneSidedTest("fence", 1, onesided{fenced: true, op: doPut, filled: fillPut, checked: checkPut}),
}

func oneSidedTest(test perf.Test, sizeMin int, o onesided) spec {
	return spec{test: test, kind: oneSided, sizeMin: sizeMin, sizeMax: collectiveMax, blocks: func(int, int) int { return 3 }, open: o.open}
}

func doPut(a *access) mpi.Request { return a.w.Put(mpi.Slice(a.out), rma.At(target, 0)) }

func fillPut(a *access, round int) {
	there.fill(a.out, round)
	spoil(a.w.Memory(), there, round)
}

func checkPut(a *access, round int) error {
	if a.me != target {
		return nil
	}
	return there.check(a.w.Memory(), round)
}

func doGet(a *access) mpi.Request { return a.w.Get(mpi.Slice(a.in), rma.At(target, 0)) }

func fillGet(a *access, round int) {
	there.fill(a.w.Memory(), round)
	spoil(a.in, there, round)
}

func checkGet(a *access, round int) error {
	if a.me == target {
		return nil
	}
	return there.check(a.in, round)
}

// doFetch adds numbers, and fetches the former ones.
func doFetch(a *access) mpi.Request {
	if len(a.out) == floatBytes {
		return a.w.FetchAndOp(mpi.Slice(int64s(a.out)), mpi.Slice(int64s(a.in)), rma.At(target, 0), mpi.Sum)
	}
	return a.w.GetAccumulate(mpi.Slice(int64s(a.out)), mpi.Slice(int64s(a.in)), rma.At(target, 0), mpi.Sum)
}

func fillFetch(a *access, round int) {
	for i := range len(a.out) / floatBytes {
		at := i * floatBytes
		binary.NativeEndian.PutUint64(a.out[at:], addend(round, i))
		binary.NativeEndian.PutUint64(a.w.Memory()[at:], former(round, i))
		binary.NativeEndian.PutUint64(a.in[at:], 0)
	}
}

func checkFetch(a *access, round int) error {
	mem, plus := a.in, uint64(0)
	for i := range len(mem) / floatBytes {
		if a.me == target {
			mem, plus = a.w.Memory(), addend(round, i)
		}
		if got, want := binary.NativeEndian.Uint64(mem[i*floatBytes:]), former(round, i)+plus; got != want {
			return fmt.Errorf("number %d is %d and should be %d", i, got, want)
		}
	}
	return nil
}

func addend(round, i int) uint64 { return uint64((round + 1) * (i + 3)) }
func former(round, i int) uint64 { return uint64(1_000_000*(round+1) + i) }
