package coll

import (
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// An Operation names a collective operation that has more than one algorithm.
type Operation string

// The operations that Algorithms knows.
const (
	OpBarrier       Operation = "barrier"
	OpBcast         Operation = "bcast"
	OpGather        Operation = "gather"
	OpScatter       Operation = "scatter"
	OpAllgather     Operation = "allgather"
	OpAllgatherv    Operation = "allgatherv"
	OpAlltoall      Operation = "alltoall"
	OpAlltoallv     Operation = "alltoallv"
	OpReduce        Operation = "reduce"
	OpAllreduce     Operation = "allreduce"
	OpReduceScatter Operation = "reduce-scatter"
	OpScan          Operation = "scan"
	OpExscan        Operation = "exscan"
)

// Operations lists all of them.
var Operations = []Operation{
	OpBarrier, OpBcast, OpGather, OpScatter, OpAllgather, OpAllgatherv, OpAlltoall, OpAlltoallv,
	OpReduce, OpAllreduce, OpReduceScatter, OpScan, OpExscan,
}

// A Choice names the algorithm of an operation. It must be the same on all ranks.
// Auto, the zero Choice, uses the algorithm that choose.go expects to be best for
// the size, the ranks and the operator. If the chosen algorithm cannot do the job
// (see Algorithm), Auto is used instead, so a program may choose once for all its
// communicators. A name that the operation does not have is an error of class
// errclass.Arg.
type Choice string

// Choices. Not every operation has all of them; see Algorithms.
const (
	Auto Choice = ""
	// Linear exchanges one message between the root, or every rank, and each other
	// rank. It is the plain reference for the others.
	Linear Choice = "linear"
	// Binomial is a tree of logarithmic depth.
	Binomial Choice = "binomial"
	// Dissemination: in round k every rank sends to the rank 2^k further.
	Dissemination Choice = "dissemination"
	// Doubling is recursive doubling: ranks exchange all their data with a partner
	// at distance 1, 2, 4, ...
	Doubling Choice = "doubling"
	// Halving is recursive halving: ranks exchange half of their data with a
	// partner at distance n/2, n/4, ..., 1.
	Halving Choice = "halving"
	// Ring passes pieces to the next rank, n-1 times.
	Ring Choice = "ring"
	// Bruck needs a logarithm of rounds for any number of ranks and copies more.
	Bruck Choice = "bruck"
	// Pairwise exchanges data with one partner after another.
	Pairwise Choice = "pairwise"
	// Chain is a pipeline from rank to rank in segments.
	Chain Choice = "chain"
	// ScatterDoubling is van de Geijn's broadcast: a scatter, then an allgather
	// by recursive doubling.
	ScatterDoubling Choice = "scatter-doubling"
	// ScatterRing is the same with an allgather in a ring.
	ScatterRing Choice = "scatter-ring"
	// Rabenseifner is a reduce-scatter by recursive halving of the vector, then a
	// gather or an allgather.
	Rabenseifner Choice = "rabenseifner"
	// Spread sends every piece to the rank that reduces it, which keeps the order
	// of ranks.
	Spread Choice = "spread"
)

// An Algorithm is an algorithm of an operation, with its requirements.
type Algorithm struct {
	Operation Operation
	Name      Choice
	// Commutative: it needs a commutative operator.
	Commutative bool
	// PowerOfTwo: it needs 1, 2, 4, 8, ... ranks.
	PowerOfTwo bool
}

// Algorithms returns the algorithms of an operation, the plain reference first, and
// nil for an unknown operation.
func Algorithms(op Operation) []Algorithm {
	switch op {
	case OpBarrier:
		return barriers.list(op)
	case OpBcast:
		return bcasts.list(op)
	case OpGather:
		return gathers.list(op)
	case OpScatter:
		return scatters.list(op)
	case OpAllgather:
		return allgathers.list(op)
	case OpAllgatherv:
		return allgathervs.list(op)
	case OpAlltoall:
		return alltoalls.list(op)
	case OpAlltoallv:
		return alltoallvs.list(op)
	case OpReduce:
		return reduces.list(op)
	case OpAllreduce:
		return allreduces.list(op)
	case OpReduceScatter:
		return reduceScatters.list(op)
	case OpScan:
		return scans.list(op)
	case OpExscan:
		return exscans.list(op)
	}
	return nil
}

// A table lists the algorithms of one operation, functions of type F.
type table[F any] []entry[F]

type entry[F any] struct {
	name        Choice
	run         F
	commutative bool // needs a commutative operator
	powerOfTwo  bool // needs a power of two of ranks
}

func (t table[F]) list(op Operation) []Algorithm {
	var list []Algorithm
	for _, e := range t {
		list = append(list, Algorithm{Operation: op, Name: e.name, Commutative: e.commutative, PowerOfTwo: e.powerOfTwo})
	}
	return list
}

// pick returns the algorithm of the caller's choice if it can serve n ranks and the
// operator. Otherwise it returns the one named auto, which must be in the table and
// must be able to serve them.
func (t table[F]) pick(choose, auto Choice, n int, commutes bool) (F, error) {
	if choose != Auto {
		e := t.named(choose)
		if e == nil {
			var none F
			return none, errclass.New(errclass.Arg, "there is no algorithm %q for this operation: see coll.Algorithms", choose)
		}
		if (commutes || !e.commutative) && (n&(n-1) == 0 || !e.powerOfTwo) {
			return e.run, nil
		}
	}
	e := t.named(auto)
	if e == nil {
		panic("coll: broken invariant: choose.go names an algorithm that is not in the table")
	}
	return e.run, nil
}

func (t table[F]) named(name Choice) *entry[F] {
	for i := range t {
		if t[i].name == name {
			return &t[i]
		}
	}
	return nil
}

// or returns a choice for a step of an operation: Auto if it has no such algorithm.
func (t table[F]) or(choose Choice) Choice {
	if t.named(choose) == nil {
		return Auto
	}
	return choose
}
