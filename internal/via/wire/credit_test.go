package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

func creditSamples() []sample {
	var samples []sample
	for _, c := range []struct {
		name string
		m    Credit
	}{{"none", Credit{}}, {"half", Credit{Credits: 32}}, {"largest", Credit{Credits: CreditsMax}}} {
		samples = append(samples, sample{name: c.name, value: c.m, header: header(matchbits.TypeCredit, 0, c.m.Aux())})
	}
	return samples
}

func TestCredit(t *testing.T) { checkSamples(t, "credit", creditSamples()) }

func TestCreditRefusesTheImpossible(t *testing.T) {
	s := creditSamples()[1]
	refuses(t, s, "more than any side has", aux(CreditsMax+1))
	refuses(t, s, "negative in 32 bits", aux(1<<31))
}

func TestCreditString(t *testing.T) {
	assert.Equal(t, "credits=32", Credit{Credits: 32}.String())
}
