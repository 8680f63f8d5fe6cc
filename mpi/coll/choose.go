package coll

import "math/bits"

// The thresholds between algorithms. Below them the latency of a message counts,
// above them its bytes. They began as the crossing points of the usual models
// (Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication
// Operations in MPICH", 2005) and moved to where shared memory has them.
const (
	// fewRanksMax: so few ranks usually share one host, often with fewer cores than
	// ranks. Then every round of an algorithm is a switch between processes, and
	// the same cores copy every byte that is passed on. So the algorithm with the
	// fewest rounds and the fewest bytes in all wins, not the one that divides them
	// best.
	fewRanksMax = 8

	// bcastTreeBytesMax: up to here a tree sends all bytes on every edge.
	bcastTreeBytesMax = 64 << 10
	// bcastDoublingBytesMax: up to here recursive doubling gathers the pieces
	// again, in fewer rounds than a ring.
	bcastDoublingBytesMax = 512 << 10
	// bcastRingPieceBytesMin is the smallest piece that passes through all ranks. With
	// less, a ring has too many rounds.
	bcastRingPieceBytesMin = 4 << 10
	// bcastChainSegmentBytes is the segment of a Chain.
	bcastChainSegmentBytes = 64 << 10

	// gatherTreeBytesMax: a tree forwards pieces up to this size.
	gatherTreeBytesMax = 2 << 10

	// allgatherShortBytesMax is the length of all pieces together up to which the
	// number of rounds matters.
	allgatherShortBytesMax = 64 << 10
	// allgatherRingPieceBytesMin is the smallest piece, in bytes, for which a ring is fast.
	allgatherRingPieceBytesMin = 1 << 10

	// alltoallBruckBytesMax: for pieces up to this size Bruck's copies pay off, if
	// there are more than fewRanksMax ranks.
	alltoallBruckBytesMax = 256
	// alltoallLinearBytesMax: pieces up to this size are sent to alltoallBatch ranks
	// at once. For pieces of any length, where a rank does not know all sizes, only
	// the number of ranks decides.
	alltoallLinearBytesMax = 32 << 10
	alltoallBatch          = 32

	// reduceTreeBytesMax: up to here a tree carries the whole vector.
	reduceTreeBytesMax = 64 << 10
	// allreduceDoublingBytesMax: up to here ranks exchange the whole vector.
	allreduceDoublingBytesMax = 16 << 10
	// allreduceRingBytesMin: from here on a ring is used, whose pieces stay in the
	// cache, if every piece has at least allreduceRingPieceBytesMin.
	allreduceRingBytesMin      = 4 << 20
	allreduceRingPieceBytesMin = 64 << 10
	// reduceScatterHalvingBytesMax: above it pairs exchange only the parts needed.
	reduceScatterHalvingBytesMax = 256 << 10

	// What follows decides between hierarchical algorithms and the others, where package
	// collsim has the crossings: 2 to 64 hosts of 8 to 32 ranks, with 10 µs and 12.5 GB/s
	// between them.

	// farRingPieceBytesMin is the smallest piece that passes through all ranks if each
	// is on a host of its own.
	farRingPieceBytesMin = 512 << 10
	// Up to these sizes the number of messages between hosts matters. (A ring of all ranks
	// crosses every host's link once, as leaders do, so it is best for a large bcast.)
	hostsBcastBytesMax     = 512 << 10
	hostsGatherBytesMax    = 8 << 10
	hostsAllgatherBytesMax = 2 << 10
	hostsReduceBytesMax    = 128 << 10
	// hostsReduceScatterBytesMin: from here on every host gets its part once, and not once
	// for each rank that it has.
	hostsReduceScatterBytesMin = 32 << 10
	// hostsAlltoallFewHosts: on so few hosts, leaders save messages if a rank sends a
	// host at most hostsAlltoallBytesMax.
	hostsAlltoallFewHosts = 16
	hostsAlltoallBytesMax = 1 << 10
	// On more, they save bytes, as Bruck sends each piece half a logarithm of times. So the
	// block that one host sends another, times that, must be at least
	// hostsAlltoallSavedBytesMin, of pieces of at most hostsAlltoallPieceBytesMax. A leader's
	// memory is limited to hostsAlltoallMemoryMax.
	hostsAlltoallSavedBytesMin = 48 << 10
	hostsAlltoallPieceBytesMax = 64
	hostsAlltoallMemoryMax     = 64 << 20

	// interGatherBytesMax: up to here the sending group of an inter-communicator
	// collects before it sends.
	interGatherBytesMax = 2 << 10
)

func powerOfTwo(n int) bool { return n&(n-1) == 0 }

// floorPowerOfTwo returns the largest power of two that is at most n ≥ 1.
func floorPowerOfTwo(n int) int { return 1 << (bits.Len(uint(n)) - 1) }

// ringPieceBytesMin returns the smallest piece for a ring: near where a message takes as
// long as within a host, farRingPieceBytesMin where every message is between hosts.
func ringPieceBytesMin(near int, far bool) int {
	if far {
		return farRingPieceBytesMin
	}
	return near
}

// In these functions, far means that no two ranks are on one host.

func chooseBcast(n, bytes int, far bool) Choice {
	ring := bytes/n >= ringPieceBytesMin(bcastRingPieceBytesMin, far)
	switch {
	case bytes <= bcastTreeBytesMax || n <= fewRanksMax:
		return Binomial
	case powerOfTwo(n) && (bytes <= bcastDoublingBytesMax || !ring):
		return ScatterDoubling
	case !ring:
		return ScatterBruck
	}
	return ScatterRing
}

// chooseGather chooses for a gather or a scatter of pieces of this size.
func chooseGather(bytes int) Choice {
	if bytes <= gatherTreeBytesMax {
		return Binomial
	}
	return Linear
}

// chooseAllgather chooses for pieces of bytes in all.
func chooseAllgather(n, bytes int, far bool) Choice {
	few, short := n <= fewRanksMax, allgatherShort(n, bytes, far)
	switch {
	case n == 2:
		return Ring // one exchange
	case powerOfTwo(n) && (few || short):
		return Doubling
	case short:
		return Bruck
	case few:
		return Linear
	}
	return Ring
}

// allgatherShort tells whether the number of rounds matters.
func allgatherShort(n, bytes int, far bool) bool {
	return bytes <= allgatherShortBytesMax || bytes/n < ringPieceBytesMin(allgatherRingPieceBytesMin, far)
}

func chooseAllgatherv(n, bytes int, far bool) Choice {
	switch {
	case n == 2:
		return Ring
	case allgatherShort(n, bytes, far):
		return Bruck
	case n <= fewRanksMax:
		return Linear
	}
	return Ring
}

// chooseAlltoall chooses for pieces of this size.
func chooseAlltoall(n, bytes int) Choice {
	switch {
	case n == 2:
		return Pairwise
	case n <= fewRanksMax:
		return Linear
	case bytes <= alltoallBruckBytesMax:
		return Bruck
	case bytes > alltoallLinearBytesMax:
		return Pairwise
	case n <= alltoallBatch:
		return Linear
	}
	return Batches
}

func chooseAlltoallv(n int) Choice {
	switch {
	case n == 2:
		return Pairwise
	case n <= alltoallBatch:
		return Linear
	}
	return Batches
}

func chooseReduce(n, bytes, count int) Choice {
	if bytes <= reduceTreeBytesMax || n <= fewRanksMax || count < n {
		return Binomial
	}
	return Rabenseifner
}

func chooseAllreduce(n, bytes int, commutes bool) Choice {
	switch {
	case bytes <= allreduceDoublingBytesMax:
		return Doubling
	case commutes && n > fewRanksMax && bytes >= allreduceRingBytesMin && bytes/n >= allreduceRingPieceBytesMin:
		return Ring
	}
	return Rabenseifner
}

// chooseReduceScatter chooses for a vector of bytes in all.
func chooseReduceScatter(n, bytes int, commutes bool) Choice {
	switch {
	case !commutes:
		return Spread
	case n > 2 && bytes <= reduceScatterHalvingBytesMax:
		return Halving
	}
	return Pairwise
}

// chooseHierarchy tells whether a hierarchical algorithm is best on ranks of some hosts,
// for bytes as Tuning counts them.
func chooseHierarchy(op Operation, h *Hosts, bytes int) bool {
	n, hosts := len(h.of), h.Size()
	switch op {
	case OpBarrier, OpScan, OpExscan:
		return true
	case OpBcast:
		return bytes <= hostsBcastBytesMax || bytes/n < bcastRingPieceBytesMin
	case OpGather, OpScatter:
		return bytes <= hostsGatherBytesMax
	case OpAllgather, OpAllgatherv:
		return bytes <= hostsAllgatherBytesMax
	case OpAlltoall:
		return chooseHostsAlltoall(n, hosts, bytes)
	case OpReduce:
		return bytes <= hostsReduceBytesMax
	case OpAllreduce:
		return bytes <= allreduceDoublingBytesMax && !h.aligned()
	case OpReduceScatter:
		return bytes >= hostsReduceScatterBytesMin
	}
	return false
}

func chooseHostsAlltoall(n, hosts, bytes int) bool {
	local := (n + hosts - 1) / hosts
	if hosts <= hostsAlltoallFewHosts {
		return local*bytes <= hostsAlltoallBytesMax
	}
	saved := local * local * bytes * (bits.Len(uint(n))/2 - 1)
	return bytes <= hostsAlltoallPieceBytesMax && saved >= hostsAlltoallSavedBytesMin && n*local*bytes <= hostsAlltoallMemoryMax
}
