package references

import (
	"math/rand/v2"
	"slices"
)

// starts is how many random orders the search starts from.
const starts = 100

// order returns files so that the sum of the weights that point from a later file to an earlier one is
// small: the best of several local searches. To find the smallest is the minimum feedback arc set
// problem, which is NP-hard; but a package without cycles is always found.
func order(files []string, weights map[[2]string]int) []string {
	n := len(files)
	w := make([][]int, n)
	for i := range n {
		w[i] = make([]int, n)
		for j := range n {
			w[i][j] = weights[[2]string{files[i], files[j]}]
		}
	}
	rng := rand.New(rand.NewPCG(1, 1)) // the same order for the same package
	var best []int
	least := 0
	for range starts {
		perm := rng.Perm(n)
		for improve(perm, w) {
		}
		if cost := cost(perm, w); best == nil || cost < least {
			best, least = perm, cost
		}
	}
	ordered := make([]string, n)
	for i, file := range best {
		ordered[i] = files[file]
	}
	return ordered
}

// cost is the sum of the weights from a later file to an earlier one.
func cost(perm []int, w [][]int) (sum int) {
	for i, to := range perm {
		for _, from := range perm[i+1:] {
			sum += w[from][to]
		}
	}
	return sum
}

// improve moves each file to where the cost is least, and reports whether that made a difference.
func improve(perm []int, w [][]int) (better bool) {
	for i := range perm {
		file, at, gain := perm[i], i, 0
		for step := -1; step <= 1; step += 2 {
			change := 0
			for j := i + step; j >= 0 && j < len(perm); j += step {
				// file and perm[j] change their order.
				change += step * (w[file][perm[j]] - w[perm[j]][file])
				if change < gain {
					at, gain = j, change
				}
			}
		}
		if at != i {
			perm = slices.Insert(slices.Delete(perm, i, i+1), at, file)
			better = true
		}
	}
	return better
}
