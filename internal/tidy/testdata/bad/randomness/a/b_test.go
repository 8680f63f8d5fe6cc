package a

import (
	"math/rand/v2"
)

func draw(seed uint64) int {
	if seed == 0 {
		seed = rand.Uint64()
	}
	own := rand.New(rand.NewPCG(seed, 0))
	return own.IntN(6) + rand.IntN(6)
}

func shadow(rand *rand.Rand) int { return rand.IntN(6) }
