package proto

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMovesHint(t *testing.T) {
	for _, h := range []Handle{0, 1, 4611686018427384793, 1<<64 - 1} {
		sent := &Header{Hints: Hints{{Type: HintHandle, Value: 7}, RemovesHint(3), MovesHint(h, h/2)}}
		got, _, err := ParseRequest(AppendRequest(nil, sent, &NoopReq{}))
		require.NoError(t, err)
		object, to, ok := got.Hints.Moves()
		assert.True(t, ok)
		assert.Equal(t, h, object)
		assert.Equal(t, h/2, to)
	}
	assert.Equal(t, "12 34", MovesHint(12, 34).Text)
	for _, bad := range []Hints{
		nil,
		{{Type: HintHandle, Value: 7}},
		{RemovesHint(1)},
		{{Type: 15, Name: HintMoves, Text: "1 2"}},
		{{Name: HintMoves, Text: "1"}},
		{{Name: HintMoves, Text: "1 "}},
		{{Name: HintMoves, Text: " 2"}},
		{{Name: HintMoves, Text: "1 2 3"}},
		{{Name: HintMoves, Text: "-1 2"}},
		{{Name: HintMoves, Text: "1 18446744073709551616"}},
	} {
		_, _, ok := bad.Moves()
		assert.False(t, ok, "%v", bad)
	}
}
