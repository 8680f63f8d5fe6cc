package message

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

type numberedLoan int

func (numberedLoan) Hold() {}
func (numberedLoan) Free() {}

// Loans come back in any order, each once, and a list that is never empty takes no more
// memory than its loans need.
func TestLoansComeBackInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(sim.Seed(t), 1))
	var l loanList
	var lent []*nic.Descriptor
	numbers := make(map[*nic.Descriptor]numberedLoan)
	for i := range 20_000 {
		if len(lent) < 8 && (len(lent) < 2 || rng.IntN(2) == 0) {
			d := &nic.Descriptor{}
			numbers[d] = numberedLoan(i)
			lent = append(lent, d)
			l.add(d, numbers[d])
			continue
		}
		at := rng.IntN(len(lent)) * rng.IntN(2)
		d := lent[at]
		lent = slices.Delete(lent, at, at+1)
		require.Equal(t, numbers[d], l.take(d))
		require.Nil(t, l.take(d))
		require.Equal(t, len(lent), l.count())
	}
	require.LessOrEqual(t, cap(l.all), 32)
}
