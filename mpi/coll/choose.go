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
	// bcastChainSegmentBytes is the segment of a Chain.
	bcastChainSegmentBytes = 64 << 10

	// gatherTreeBytesMax: a tree forwards pieces up to this size.
	gatherTreeBytesMax = 2 << 10

	// allgatherShortBytesMax is the length of all pieces together up to which the
	// number of rounds matters.
	allgatherShortBytesMax = 64 << 10

	// alltoallBruckBytesMax: for pieces up to this size Bruck's copies pay off, if
	// there are more than fewRanksMax ranks.
	alltoallBruckBytesMax = 256
	// alltoallLinearBytesMax: pieces up to this size are all sent at once, to at
	// most alltoallLinearRanksMax ranks. For pieces of any length, where a rank
	// does not know all sizes, only the number of ranks decides.
	alltoallLinearBytesMax = 32 << 10
	alltoallLinearRanksMax = 32

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

	// interGatherBytesMax: up to here the sending group of an inter-communicator
	// collects before it sends.
	interGatherBytesMax = 2 << 10
)

func powerOfTwo(n int) bool { return n&(n-1) == 0 }

// floorPowerOfTwo returns the largest power of two that is at most n ≥ 1.
func floorPowerOfTwo(n int) int { return 1 << (bits.Len(uint(n)) - 1) }

func chooseBcast(n, bytes int) Choice {
	switch {
	case bytes <= bcastTreeBytesMax || n <= fewRanksMax:
		return Binomial
	case powerOfTwo(n) && bytes <= bcastDoublingBytesMax:
		return ScatterDoubling
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
func chooseAllgather(n, bytes int) Choice {
	few, short := n <= fewRanksMax, bytes <= allgatherShortBytesMax
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

func chooseAllgatherv(n, bytes int) Choice {
	switch {
	case n == 2:
		return Ring
	case bytes <= allgatherShortBytesMax:
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
	case bytes <= alltoallLinearBytesMax && n <= alltoallLinearRanksMax:
		return Linear
	}
	return Pairwise
}

func chooseAlltoallv(n int) Choice {
	if n > 2 && n <= alltoallLinearRanksMax {
		return Linear
	}
	return Pairwise
}

func chooseReduce(n, bytes, count int) Choice {
	if bytes <= reduceTreeBytesMax || n <= fewRanksMax || count < n {
		return Binomial
	}
	return Rabenseifner
}

func chooseAllreduce(n, bytes, count int, commutes bool) Choice {
	switch {
	case bytes <= allreduceDoublingBytesMax || count < n:
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
