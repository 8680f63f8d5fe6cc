package reduce

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Func combines count packed elements of type t: inout = in OP inout, element by
// element, where in comes from lower ranks than inout (MPI-4.1, 6.9.5). It must be
// associative and must not keep the slices. They may have any alignment.
type Func func(in, inout []byte, t *datatype.Type, count int)

// An Op is an operator. It is immutable and may be used by several goroutines at
// once.
type Op struct {
	name        string
	commutative bool
	loops       *loops                       // by the kind of the elements; if nil:
	fn          Func                         // for elements of any type,
	valid       func(t *datatype.Type) error // unless valid returns an error for it; may be nil
}

// A loop combines n elements of one kind.
type loop func(inout, in []byte, n int)

type loops [datatype.Kinds]loop

// New makes an operator of the program's own (MPI_Op_create). If it is not
// commutative, elements are combined in rank order.
func New(name string, commutative bool, fn Func) (*Op, error) {
	if fn == nil {
		return nil, errclass.New(errclass.Op, "the operator %q has no function", name)
	}
	return &Op{name: name, commutative: commutative, fn: fn}, nil
}

// NewFor is New for an operator on some types only: valid returns an error of class
// errclass.Op for the others. It is called in every operation.
func NewFor(valid func(t *datatype.Type) error, name string, commutative bool, fn Func) (*Op, error) {
	o, err := New(name, commutative, fn)
	if err == nil {
		o.valid = valid
	}
	return o, err
}

// Name returns the operator's name for errors.
func (o *Op) Name() string { return o.name }

// String returns the name.
func (o *Op) String() string { return o.name }

// Commutative tells whether a OP b is b OP a (MPI_Op_commutative).
func (o *Op) Commutative() bool { return o.commutative }

// Exact tells whether a OP b and b OP a are known to be the same to the last bit,
// except for the bits of a NaN. That is so for the predefined operators that
// commute; for the program's own it is not known.
func (o *Op) Exact() bool { return o.commutative && o.loops != nil }

// ValidFor returns an error of class errclass.Op if the operator is not defined for
// the elements of t (MPI-4.1, 6.9.2), or if o is nil.
func (o *Op) ValidFor(t *datatype.Type) error {
	switch {
	case o == nil:
		return errclass.New(errclass.Op, "the operator is nil: take a predefined one, such as Sum, or make one of your own")
	case t == nil:
		return errclass.New(errclass.Type, "there is no datatype for the operator %s", o.name)
	case o.loops != nil && o.loops[t.Kind()] == nil:
		return errclass.New(errclass.Op, "the operator %s is not defined for the elements of %v: take one that is, or make one of your own",
			o.name, t)
	case o.valid != nil:
		return o.valid(t)
	}
	return nil
}

// Apply combines count packed elements of type t, for which the operator must be
// valid: inout = in OP inout. Both slices have at least that many elements and do
// not overlap.
func (o *Op) Apply(inout, in []byte, t *datatype.Type, count int) {
	if count == 0 {
		return
	}
	if o.loops == nil {
		bytes := count * t.Size()
		o.fn(in[:bytes:bytes], inout[:bytes:bytes], t, count)
		return
	}
	o.loops[t.Kind()](inout, in, count*t.Elements())
}
