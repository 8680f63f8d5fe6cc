package mpi

import (
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// An Op is an operator that combines the elements of a reduction (MPI-4.1, 6.9). It is immutable
// and may be used by several goroutines at once.
type Op = reduce.Op

// The predefined operators (MPI-4.1, 6.9.2). MaxLoc and MinLoc are for datatype.Pair.
var (
	Sum     = reduce.Sum
	Prod    = reduce.Prod
	Max     = reduce.Max
	Min     = reduce.Min
	LAnd    = reduce.LAnd
	BAnd    = reduce.BAnd
	LOr     = reduce.LOr
	BOr     = reduce.BOr
	LXor    = reduce.LXor
	BXor    = reduce.BXor
	MaxLoc  = reduce.MaxLoc
	MinLoc  = reduce.MinLoc
	Replace = reduce.Replace
	NoOp    = reduce.NoOp
)

// NewOp makes an operator on elements of type T (MPI_Op_create; MPI-4.1, 6.9.5). fn computes
// inout[i] = in[i] op inout[i] for all elements that it gets, which may be only a part of those of
// the call. The operation must be associative. If it is not commutative, elements are combined in
// rank order. fn may be called by several goroutines at once, must not communicate, and must not
// keep the slices.
//
// The operator works on slices of T, and on Buffers whose elements are one or more values of T in
// any layout. With other elements, reductions end with ErrOp.
func NewOp[T any](fn func(in, inout []T), commutative bool) (*Op, error) {
	if fn == nil {
		return nil, errclass.New(errclass.Op, "the function of an operator is nil")
	}
	t, err := datatype.Of[T]()
	if err != nil {
		return nil, err
	}
	name := "a function on " + t.String()
	valid := func(of *datatype.Type) error {
		if of != t && !madeOf(of, t) {
			return errclass.New(errclass.Op, "the operator is %s and cannot combine elements of the type %v: give it a slice or a datatype of its own type", name, of)
		}
		return nil
	}
	return reduce.NewFor(valid, name, commutative, func(in, inout []byte, of *datatype.Type, count int) {
		if size := t.Size(); size > 0 {
			combine(fn, t, in, inout, count*of.Size()/size)
		}
	})
}

// leavesBytesMax limits how many bytes of a struct are compared in each reduction.
const leavesBytesMax = 1 << 12

// madeOf tells whether the packed elements of a datatype are whole values of another. It compares
// the kinds of their leaves; in structs of several kinds it compares only the sizes.
func madeOf(of, t *datatype.Type) bool {
	size := t.Size()
	if size == 0 || of.Size()%size != 0 {
		return of.Size() == size
	}
	if t.Kind() != datatype.KindNone {
		return kindOf(of) == kindOf(t)
	}
	if of.Kind() != datatype.KindNone {
		return false
	}
	for bytes := range min(of.Size(), leavesBytesMax) {
		values, rest := bytes/size, bytes%size
		each, _ := t.ElementsIn(size)
		want, whole := t.ElementsIn(rest)
		if got, ends := of.ElementsIn(bytes); got != values*each+want || ends != whole {
			return false
		}
	}
	return true
}

// kindOf returns the kind of Go that all leaves are like. Bytes count as 8-bit numbers.
func kindOf(t *datatype.Type) datatype.Kind {
	if k := t.Kind().Like(); k != datatype.KindByte {
		return k
	}
	return datatype.KindUint8
}

// combine calls fn on n packed elements of type t, the datatype of T. fn works on their memory if
// it can be a slice of T, else on copies.
func combine[T any](fn func(in, inout []T), t *datatype.Type, in, inout []byte, n int) {
	if n == 0 {
		return
	}
	if t.Contiguous() && aligned[T](in) && aligned[T](inout) {
		fn(sliceOf[T](in, n), sliceOf[T](inout, n))
		return
	}
	a, b := make([]T, n), make([]T, n)
	_, _ = t.Unpack(bytesOf(a), 0, n, in) // t describes T
	_, _ = t.Unpack(bytesOf(b), 0, n, inout)
	fn(a, b)
	_, _ = t.Pack(inout, bytesOf(b), 0, n)
}

// aligned tells whether a T may be stored at the beginning of mem.
func aligned[T any](mem []byte) bool {
	var x T
	return uintptr(unsafe.Pointer(unsafe.SliceData(mem)))%unsafe.Alignof(x) == 0
}

// sliceOf returns the memory of n contiguous elements as a slice of T.
func sliceOf[T any](mem []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}

// ReduceLocal combines in and inout without communication: inout[i] = in[i] op inout[i]
// (MPI_Reduce_local; MPI-4.1, 6.9.7).
func ReduceLocal(in, inout Buffer, op *Op) error {
	for _, b := range []*Buffer{&in, &inout} {
		if err := memory(b); err != nil {
			return err
		}
	}
	if err := checkReduction(&in, &inout, op); err != nil {
		return err
	}
	acc := inout.packed()
	op.Apply(acc, in.packed(), inout.t, inout.count())
	inout.unpack(acc)
	return nil
}
