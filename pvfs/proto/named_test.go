package proto

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNameChangeHint(t *testing.T) {
	for _, c := range []NameChange{{}, {1, 2, 3, true}, {1<<64 - 1, 1 << 63, math.MaxUint32, false}} {
		sent := &Header{Hints: Hints{{Type: HintHandle, Value: 7}, TellsHint(), OpensHint(), c.Hint()}}
		got, _, err := ParseRequest(AppendRequest(nil, sent, &NoopReq{}))
		require.NoError(t, err)
		is, ok := got.Hints.NameChange()
		assert.True(t, ok)
		assert.Equal(t, c, is)
		assert.True(t, got.Hints.Tells() && got.Hints.Opens())
	}
	assert.Equal(t, "12 34 56 -", NameChange{12, 34, 56, true}.Hint().Text)
	for _, bad := range []Hints{
		nil,
		{{Type: HintHandle, Value: 7}},
		{MovesHint(1, 2)},
		{{Type: 15, Name: HintNamed, Text: "1 2 3 +"}},
		{{Name: HintNamed, Text: ""}},
		{{Name: HintNamed, Text: "1 2 3"}},
		{{Name: HintNamed, Text: "1 2 3 *"}},
		{{Name: HintNamed, Text: "1 2 3 + 4"}},
		{{Name: HintNamed, Text: "1 -2 3 +"}},
		{{Name: HintNamed, Text: "1 2 4294967296 +"}},
	} {
		_, ok := bad.NameChange()
		assert.False(t, ok, "%v", bad)
		assert.False(t, bad.Tells() || bad.Opens())
	}
}
