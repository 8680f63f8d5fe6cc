package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

func finSamples() []sample {
	var samples []sample
	for _, c := range []struct {
		name string
		m    Fin
	}{
		{"moved", Fin{Op: 0x100000002, Status: FinMoved}},
		{"truncated", Fin{Op: ^uint64(0), Status: FinTruncated}},
	} {
		samples = append(samples, sample{
			name: c.name, value: c.m, body: c.m.Append(nil),
			header: header(matchbits.TypeFin, 0, 0),
		})
	}
	return samples
}

func TestFin(t *testing.T) { checkSamples(t, "fin", finSamples()) }

func TestFinRefusesTheImpossible(t *testing.T) {
	s := finSamples()[0]
	refuses(t, s, "unknown status", put32(8, uint32(finStatusEnd)))
	refuses(t, s, "status with the highest bit", put32(8, 1<<31))
	refuses(t, s, "reserved word", put32(12, 1))
}

func TestFinString(t *testing.T) {
	assert.Equal(t, "op=0x100000002 status=moved", finSamples()[0].value.String())
	assert.Equal(t, "truncated", FinTruncated.String())
	assert.Equal(t, "FinStatus(7)", FinStatus(7).String())
}
