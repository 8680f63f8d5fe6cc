package references

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReferencesOfEveryKind(t *testing.T) {
	counted, err := Load(t.Context(), "testdata/rooms", ".")
	require.NoError(t, err)
	require.Len(t, counted, 1)
	p := counted[0]
	assert.Equal(t, []string{"top.go", "middle.go", "bottom.go"}, p.Files)
	assert.Equal(t, []string{"bottom.go uses middle of middle.go", "bottom.go uses room.Told of top.go"}, texts(p.Up))
	// top uses room, room.name, room.tell and middle; middle uses room, room.name, room.whole and limit.
	assert.Equal(t, 4+4+2, p.Total)
}

func texts(refs []Reference) (all []string) {
	for _, r := range refs {
		all = append(all, r.String())
	}
	return all
}

func TestWhatCannotBeLoadedIsAnError(t *testing.T) {
	_, err := Load(t.Context(), "testdata", "./none")
	assert.ErrorContains(t, err, "none")
}

// TestTheOrderIsTheBest compares the search with all orders of few files.
func TestTheOrderIsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		files, weights := randomPackage(rng, 6, 0.4)
		assert.Equal(t, leastOfAll(files, nil, weights), up(order(files, weights), weights), "%v", weights)
	}
}

// TestAPackageWithoutCyclesHasAnOrder: also one with many files.
func TestAPackageWithoutCyclesHasAnOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 10 {
		files, weights := randomPackage(rng, 30, 0.3)
		for pair := range weights {
			if pair[0] > pair[1] {
				delete(weights, pair)
			}
		}
		rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		assert.Zero(t, up(order(files, weights), weights))
	}
}

func randomPackage(rng *rand.Rand, n int, density float64) ([]string, map[[2]string]int) {
	var files []string
	for i := range n {
		files = append(files, fmt.Sprintf("file%02d.go", i))
	}
	weights := make(map[[2]string]int)
	for _, from := range files {
		for _, to := range files {
			if from != to && rng.Float64() < density {
				weights[[2]string{from, to}] = 1 + rng.IntN(5)
			}
		}
	}
	return files, weights
}

// up is the sum of the weights that point up in an order.
func up(files []string, weights map[[2]string]int) (sum int) {
	for i, to := range files {
		for _, from := range files[i+1:] {
			sum += weights[[2]string{from, to}]
		}
	}
	return sum
}

// leastOfAll is the least sum of all orders that begin with the files of head.
func leastOfAll(files, head []string, weights map[[2]string]int) int {
	if len(files) == 0 {
		return up(head, weights)
	}
	least := -1
	for i := range files {
		rest := append(append([]string{}, files[:i]...), files[i+1:]...)
		if sum := leastOfAll(rest, append(head, files[i]), weights); least < 0 || sum < least {
			least = sum
		}
	}
	return least
}
