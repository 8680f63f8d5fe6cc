package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

func eagerFirstSamples() []sample {
	first := func(name, comment string, kind matchbits.Type, m EagerFirst, payload string) sample {
		return sample{
			name: name, comment: comment, header: header(kind, 42, m.Aux()),
			value: m, body: []byte(payload), least: HeaderLen,
		}
	}
	return []sample{
		first("expected", "A whole message.", matchbits.TypeExpected, EagerFirst{Length: 5}, "hello"),
		first("expected_empty", "A message without bytes.", matchbits.TypeExpected, EagerFirst{}, ""),
		first("unexpected", "The beginning of a longer message.", matchbits.TypeUnexpected, EagerFirst{Length: 16384, Class: 9}, "begin"),
		first("unexpected_largest", "Every field at its limit.", matchbits.TypeUnexpected, EagerFirst{Length: EagerBytesLimit, Class: 255}, "x"),
	}
}

func TestEagerFirst(t *testing.T) {
	checkSamples(t, "eager_first", eagerFirstSamples())
	for _, s := range eagerFirstSamples() {
		assert.False(t, IsNext(s.header.Aux), s.name)
	}
}

func TestEagerFirstString(t *testing.T) {
	assert.Equal(t, "length=16384 class=9", EagerFirst{Length: 16384, Class: 9}.String())
}
