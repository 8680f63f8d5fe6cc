package coll

import "math/bits"

// The thresholds between algorithms. Below them a message costs its latency,
// above them its bytes. They began as the crossing points of the usual models
// (Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication
// Operations in MPICH", 2005) and moved to where shared memory has them.
const (
	// fewRanksMax: so few ranks are usually those of one host, and often more
	// than it has cores. Then every round of an algorithm is a switch between
	// processes, and every byte that is passed on is copied by the same cores:
	// what has the fewest rounds and the fewest bytes in all wins, not what
	// divides them best.
	fewRanksMax = 8

	// bcastTreeBytesMax: up to here a tree sends everything on every edge.
	bcastTreeBytesMax = 64 << 10
	// bcastDoublingBytesMax: up to here recursive doubling gathers the pieces
	// again, in fewer rounds than a ring.
	bcastDoublingBytesMax = 512 << 10
	// bcastChainSegmentBytes is the segment of a Chain.
	bcastChainSegmentBytes = 64 << 10

	// gatherTreeBytesMax: up to pieces of this size a tree forwards them.
	gatherTreeBytesMax = 2 << 10

	// allgatherShortBytesMax is the length of all pieces together up to which the
	// number of rounds counts.
	allgatherShortBytesMax = 64 << 10

	// alltoallBruckBytesMax: pieces this small are worth the copies of Bruck, if
	// there are more than fewRanksMax ranks.
	alltoallBruckBytesMax = 256
	// alltoallLinearBytesMax: pieces up to this size are all sent at once, to at
	// most alltoallLinearRanksMax ranks. For pieces of any length, whose sizes a
	// rank does not know of the others, the ranks alone decide.
	alltoallLinearBytesMax = 32 << 10
	alltoallLinearRanksMax = 32

	// reduceTreeBytesMax: up to here a tree carries the whole vector.
	reduceTreeBytesMax = 64 << 10
	// allreduceDoublingBytesMax: up to here all exchange the whole vector.
	allreduceDoublingBytesMax = 16 << 10
	// allreduceRingBytesMin: from here on a ring, whose pieces stay in the cache,
	// if every piece still has allreduceRingPieceBytesMin.
	allreduceRingBytesMin      = 4 << 20
	allreduceRingPieceBytesMin = 64 << 10
	// reduceScatterHalvingBytesMax: above it pairs exchange only what they need.
	reduceScatterHalvingBytesMax = 256 << 10

	// interGatherBytesMax: up to here the far group of an inter-communicator
	// collects before it sends.
	interGatherBytesMax = 2 << 10
)

func powerOfTwo(n int) bool { return n&(n-1) == 0 }

// floorPowerOfTwo is the largest power of two that is not above n ≥ 1.
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

// chooseGather is for a gather and for a scatter of pieces of a size.
func chooseGather(bytes int) Choice {
	if bytes <= gatherTreeBytesMax {
		return Binomial
	}
	return Linear
}

// chooseAllgather is for pieces of so many bytes in all.
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

// chooseAlltoall is for pieces of a size.
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

// chooseReduceScatter is for a vector of so many bytes in all.
func chooseReduceScatter(n, bytes int, commutes bool) Choice {
	switch {
	case !commutes:
		return Spread
	case n > 2 && bytes <= reduceScatterHalvingBytesMax:
		return Halving
	}
	return Pairwise
}
