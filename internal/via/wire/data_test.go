package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

func dataSamples() []sample {
	var samples []sample
	for _, c := range []struct {
		name    string
		m       Data
		payload string
	}{
		{"first", Data{RecvOp: 0x300000004}, "payload"},
		{"last_byte", Data{RecvOp: 0x300000004, Offset: 99999}, "x"},
		{"largest", Data{RecvOp: ^uint64(0), Offset: RTSBytesMax}, "x"},
	} {
		samples = append(samples, sample{
			name: c.name, value: c.m, body: append(c.m.Append(nil), c.payload...),
			header: header(matchbits.TypeData, 0, 0), least: HeaderLen + DataFixed + 1,
		})
	}
	return samples
}

func TestData(t *testing.T) { checkSamples(t, "data", dataSamples()) }

func TestDataRefusesTheImpossible(t *testing.T) {
	refuses(t, dataSamples()[0], "offset behind every message", put64(8, RTSBytesMax+1))
}

func TestDataReturnsThePayload(t *testing.T) {
	s := dataSamples()[0]
	assert.Len(t, Data{}.Append(nil), DataFixed)
	_, payload, err := ParseData(s.body)
	assert.NoError(t, err)
	assert.Equal(t, "payload", string(payload))
}

func TestDataString(t *testing.T) {
	assert.Equal(t, "recv=0x300000004 offset=99999", dataSamples()[1].value.String())
}
