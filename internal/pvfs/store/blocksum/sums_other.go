//go:build !amd64

package blocksum

// sumsOf writes the sums of blocks of full size, as many as there are.
func sumsOf(sums, blocks []byte) { eachSum(sums, blocks) }
