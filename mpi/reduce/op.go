package reduce

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Func combines count packed elements of type t: inout = in OP inout, element
// by element, where in is from lower ranks than inout (MPI-4.1, 6.9.5). It must
// be associative and keep neither slice. The slices may lie at any address.
type Func func(in, inout []byte, t *datatype.Type, count int)

// An Op is an operator. It does not change and may be used by everybody at
// once.
type Op struct {
	name        string
	commutative bool
	loops       *loops                       // by the kind of the elements, or nil:
	fn          Func                         // for elements of any type,
	valid       func(t *datatype.Type) error // unless this has an error for it; may be nil
}

// A loop combines n elements of one kind.
type loop func(inout, in []byte, n int)

type loops [datatype.KindFloat64Int64 + 1]loop

// New makes an operator of a program's own (MPI_Op_create). If it is not
// commutative, ranks are combined in their order.
func New(name string, commutative bool, fn Func) (*Op, error) {
	if fn == nil {
		return nil, errclass.New(errclass.Op, "the operator %q has no function", name)
	}
	return &Op{name: name, commutative: commutative, fn: fn}, nil
}

// NewFor is New of an operator that is for some types only: valid has an error for the others,
// of class errclass.Op, and is asked with every operation.
func NewFor(valid func(t *datatype.Type) error, name string, commutative bool, fn Func) (*Op, error) {
	o, err := New(name, commutative, fn)
	if err == nil {
		o.valid = valid
	}
	return o, err
}

// Name is what the operator is called in errors.
func (o *Op) Name() string { return o.name }

// String is the name.
func (o *Op) String() string { return o.name }

// Commutative: a OP b is b OP a (MPI_Op_commutative).
func (o *Op) Commutative() bool { return o.commutative }

// Exact: a OP b and b OP a are the same to the last bit, but for what is in a
// NaN. The predefined operators that commute are; of a program's own nobody
// knows.
func (o *Op) Exact() bool { return o.commutative && o.loops != nil }

// ValidFor is an error of class errclass.Op if the operator is not defined for
// the elements of t (MPI-4.1, 6.9.2), or if there is no operator at all.
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

// Apply combines count packed elements of type t, for which the operator must
// be valid: inout = in OP inout. Both hold at least that many and do not
// overlap.
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
