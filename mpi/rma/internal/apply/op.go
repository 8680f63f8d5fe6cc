package apply

import (
	"math"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// An Op is a predefined operator, numbered as in reduce.Predefined.
type Op uint8

// The operators.
const (
	Sum Op = iota
	Prod
	Max
	Min
	LAnd
	LOr
	LXor
	BAnd
	BOr
	BXor
	MaxLoc
	MinLoc
	Replace
	NoOp
)

// OpOf returns the number of an operator. Operators of the program's own cannot be used in
// accumulates (MPI-4.1, 12.3.4).
func OpOf(o *reduce.Op) (Op, error) {
	i := slices.Index(reduce.Predefined, o)
	if i < 0 {
		return 0, errclass.New(errclass.Op, "the operator of an accumulate must be a predefined one, such as Sum")
	}
	return Op(i), nil
}

// Check returns an error unless elements of a kind can be combined by an operator.
func Check(o Op, k datatype.Kind) error {
	t := datatype.ByKind(k)
	if t == nil {
		return errclass.New(errclass.Type, "elements of the kind %v: all numbers of an accumulate must be of one predefined type", k)
	}
	if int(o) >= len(reduce.Predefined) {
		return errclass.New(errclass.Op, "operator %d does not exist", o)
	}
	return reduce.Predefined[o].ValidFor(t)
}

// numbers has, for each kind of numbers that instructions change, the operators that are valid.
var numbers = func() (all [datatype.Kinds][NoOp + 1]bool) {
	for k := range all {
		for o := range all[k] {
			all[k][o] = Atomic(datatype.Kind(k)) && Check(Op(o), datatype.Kind(k)) == nil
		}
	}
	return all
}()

// Numbers tells whether an operator is valid for a kind whose aligned elements are changed without a
// lock.
func Numbers(o Op, k datatype.Kind) bool {
	return int(k) < len(numbers) && int(o) < len(numbers[k]) && numbers[k][o]
}

// step8 combines two elements of 8 bytes.
func step8(o Op, k datatype.Kind, target, in uint64) uint64 {
	switch k {
	case datatype.KindInt64:
		return uint64(integer(o, int64(target), int64(in)))
	case datatype.KindUint64:
		return integer(o, target, in)
	default:
		return math.Float64bits(number(o, math.Float64frombits(target), math.Float64frombits(in)))
	}
}

// step4 combines two elements of 4 bytes.
func step4(o Op, k datatype.Kind, target, in uint32) uint32 {
	switch k {
	case datatype.KindInt32:
		return uint32(integer(o, int32(target), int32(in)))
	case datatype.KindUint32:
		return integer(o, target, in)
	default:
		return math.Float32bits(number(o, math.Float32frombits(target), math.Float32frombits(in)))
	}
}

// number combines two numbers, by operators that are defined for all of them.
func number[T int32 | int64 | uint32 | uint64 | float32 | float64](o Op, target, in T) T {
	switch o {
	case Sum:
		return in + target
	case Prod:
		return in * target
	case Max:
		return max(in, target)
	case Min:
		return min(in, target)
	}
	return target
}

// integer combines two integers.
func integer[T int32 | int64 | uint32 | uint64](o Op, target, in T) T {
	truth := func(b bool) T {
		if b {
			return 1
		}
		return 0
	}
	switch o {
	case LAnd:
		return truth(in != 0 && target != 0)
	case LOr:
		return truth(in != 0 || target != 0)
	case LXor:
		return truth((in != 0) != (target != 0))
	case BAnd:
		return in & target
	case BOr:
		return in | target
	case BXor:
		return in ^ target
	}
	return number(o, target, in)
}
