package proto

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMetafilesHint(t *testing.T) {
	for _, metafiles := range [][]Handle{{0}, {1, 0, 4611686018427384793}, slices.Repeat([]Handle{math.MaxUint64}, MetafilesMax)} {
		sent := &Header{Hints: Hints{{Type: HintHandle, Value: 7}, MetafilesHint(metafiles)}}
		got, _, err := ParseRequest(AppendRequest(nil, sent, &NoopReq{}))
		require.NoError(t, err)
		assert.Equal(t, metafiles, got.Hints.Metafiles())
	}
	assert.Equal(t, "c 0 ffffffffffffffff", MetafilesHint([]Handle{12, 0, math.MaxUint64}).Text)
	for _, bad := range []Hints{
		nil,
		{{Type: HintHandle, Value: 7}},
		{MovesHint(1, 2)},
		{{Type: 15, Name: HintMetafiles, Text: "1 2"}},
		{{Name: HintMetafiles, Text: ""}},
		{{Name: HintMetafiles, Text: "1  2"}},
		{{Name: HintMetafiles, Text: "1 "}},
		{{Name: HintMetafiles, Text: "-1"}},
		{{Name: HintMetafiles, Text: "10000000000000000"}},
	} {
		assert.Nil(t, bad.Metafiles(), "%v", bad)
	}
}
