package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

func eagerNextSamples() []sample {
	next := func(name string, kind matchbits.Type, m EagerNext) sample {
		return sample{
			name: name, header: header(kind, 42, m.Aux()),
			value: m, body: []byte("more"), least: HeaderLen,
		}
	}
	return []sample{
		next("expected", matchbits.TypeExpected, EagerNext{Offset: 8176}),
		next("unexpected", matchbits.TypeUnexpected, EagerNext{Offset: 5}),
		next("largest", matchbits.TypeExpected, EagerNext{Offset: 1<<31 - 1}),
	}
}

func TestEagerNext(t *testing.T) {
	checkSamples(t, "eager_next", eagerNextSamples())
	for _, s := range eagerNextSamples() {
		assert.True(t, IsNext(s.header.Aux), s.name)
	}
}

func TestEagerNextString(t *testing.T) {
	assert.Equal(t, "offset=8176", EagerNext{Offset: 8176}.String())
}
