package tree

import "github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"

// Limits of one node, in bytes unless they say otherwise.
const (
	// OutputWindow is how much output may be under way on one link. It has room for several frames.
	OutputWindow = 4 * wire.OutputBytesMax
	// outputTakenMin is how much output of a neighbour is passed on before the neighbour gets room
	// for more.
	outputTakenMin = OutputWindow / 4
	// pairsFrameBytes is about how many bytes of pairs are sent in one frame.
	pairsFrameBytes = 256 << 10
	// SpreadBytesMax is how many bytes of pairs a fence gives to all nodes. If there are more, nodes
	// ask for those that they need.
	SpreadBytesMax = 256 << 10
	// pageBytes is about how many bytes of pairs an answer has: the one that was asked for, and
	// those put after it, because a process that asks for one often asks for the next.
	pageBytes = 32 << 10
	// storeBytesMax limits the pairs of a group. Beyond it, the launcher refuses more, and other
	// nodes keep no copies.
	storeBytesMax = 512 << 20
)
