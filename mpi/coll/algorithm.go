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
// Auto, the zero Choice, uses the algorithm of the Machine's Tuning, or else the one
// that choose.go expects to be best for the size, the ranks, their hosts and the
// operator. If the chosen algorithm cannot do the job
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
	// Batches exchanges data with many partners at once, then with as many others.
	Batches Choice = "batches"
	// Chain is a pipeline from rank to rank in segments.
	Chain Choice = "chain"
	// ScatterDoubling is van de Geijn's broadcast: a scatter, then an allgather
	// by recursive doubling.
	ScatterDoubling Choice = "scatter-doubling"
	// ScatterRing is the same with an allgather in a ring.
	ScatterRing Choice = "scatter-ring"
	// ScatterBruck is the same with Bruck's allgather: a logarithm of rounds for any
	// number of ranks.
	ScatterBruck Choice = "scatter-bruck"
	// Rabenseifner is a reduce-scatter by recursive halving of the vector, then a
	// gather or an allgather.
	Rabenseifner Choice = "rabenseifner"
	// Spread sends every piece to the rank that reduces it, which keeps the order
	// of ranks.
	Spread Choice = "spread"
	// Hierarchical works within each host, then between one rank of each host, then
	// within each host again. It needs a Comm whose Machine knows the hosts.
	Hierarchical Choice = "hierarchical"
)

// An Algorithm is an algorithm of an operation, with its requirements.
type Algorithm struct {
	Operation Operation
	Name      Choice
	// Commutative: it needs a commutative operator.
	Commutative bool
	// PowerOfTwo: it needs 1, 2, 4, 8, ... ranks.
	PowerOfTwo bool
	// Hosts: it needs several hosts, some of them with several ranks. If the operator
	// does not commute, the ranks of each host must be consecutive.
	Hosts bool
	// InOrder: the ranks of each host must always be consecutive.
	InOrder bool
}

// Serves tells whether the algorithm can serve n ranks on some hosts (nil: one host) with an
// operator that commutes or not. Without an operator, commutes is true.
func (a Algorithm) Serves(n int, hosts *Hosts, commutes bool) bool {
	if a.Commutative && !commutes || a.PowerOfTwo && !powerOfTwo(n) {
		return false
	}
	if !a.Hosts {
		return true
	}
	return hosts.Where() == ManyHosts && (hosts.members == nil || commutes && !a.InOrder)
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
	hosts       bool // needs several hosts, some with several ranks
	inOrder     bool // needs hosts whose ranks are consecutive
}

func (t table[F]) list(op Operation) []Algorithm {
	var list []Algorithm
	for _, e := range t {
		list = append(list, e.algorithm(op))
	}
	return list
}

func (e *entry[F]) algorithm(op Operation) Algorithm {
	return Algorithm{
		Operation: op, Name: e.name, Commutative: e.commutative, PowerOfTwo: e.powerOfTwo, Hosts: e.hosts, InOrder: e.inOrder,
	}
}

// A need is what an algorithm is needed for.
type need struct {
	op       Operation
	bytes    int  // as Tuning counts them
	commutes bool // there is no operator, or it commutes
}

// pick returns the algorithm of the caller's choice, or for Auto that which the
// machine prefers, if it can serve. Otherwise it returns the one named auto, which must
// be in the table and must be able to serve.
func (t table[F]) pick(c Comm, choose, auto Choice, w need) (F, error) {
	n, m := c.Size(), c.Machine()
	if choose == Auto {
		choose = m.choose(w.op, n, w.bytes)
	}
	if choose != Auto {
		e := t.named(choose)
		if e == nil {
			var none F
			return none, errclass.New(errclass.Arg, "there is no algorithm %q for this operation: see coll.Algorithms", choose)
		}
		if e.algorithm(w.op).Serves(n, m.known(), w.commutes) {
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
