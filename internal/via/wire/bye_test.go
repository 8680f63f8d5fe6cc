package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

func byeSamples() []sample {
	anonymous := sample{
		name: "anonymous", comment: "In the handshake: the sender knows no peer id yet.",
		value: Bye{Reason: 14}, header: Header{Bits: matchbits.Make(matchbits.TypeCancel, 0, 0, 0), Seq: 2, Aux: 14},
	}
	samples := []sample{anonymous}
	for _, c := range []struct {
		name string
		m    Bye
	}{{"cancelled", Bye{Reason: 12}}, {"largest", Bye{Reason: ^uint32(0)}}} {
		samples = append(samples, sample{name: c.name, value: c.m, header: header(matchbits.TypeCancel, 0, c.m.Aux())})
	}
	return samples
}

func TestBye(t *testing.T) { checkSamples(t, "bye", byeSamples()) }

func TestByeString(t *testing.T) { assert.Equal(t, "reason=12", Bye{Reason: 12}.String()) }
