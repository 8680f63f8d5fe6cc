package tree

import (
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
)

// Ranks returns the ranks of a group of a size that are on a node, in order.
func Ranks(blocks []wire.Block, node, size int) (ranks []int) {
	cycle := 0
	for _, b := range blocks {
		cycle += b.Nodes * b.PerNode
	}
	if cycle < 1 {
		return nil
	}
	for round := 0; round < size; round += cycle {
		first := round
		for _, b := range blocks {
			if node >= b.First && node < b.First+b.Nodes {
				from := first + (node-b.First)*b.PerNode
				for rank := from; rank < min(from+b.PerNode, size); rank++ {
					ranks = append(ranks, rank)
				}
			}
			first += b.Nodes * b.PerNode
		}
	}
	return ranks
}

// Mapping describes blocks as programs built with MPICH read it.
func Mapping(blocks []wire.Block) string {
	var text strings.Builder
	text.WriteString("(vector")
	for _, b := range blocks {
		fmt.Fprintf(&text, ",(%d,%d,%d)", b.First-1, b.Nodes, b.PerNode)
	}
	return text.String() + ")"
}
