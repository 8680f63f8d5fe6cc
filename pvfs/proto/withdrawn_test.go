package proto

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWithdrawalHint(t *testing.T) {
	for _, w := range []Withdrawal{{}, {Object: 1, At: 2, Owner: 3}, {1<<64 - 1, math.MaxInt64, math.MaxUint32, true}} {
		sent := &Header{Hints: Hints{{Type: HintHandle, Value: 7}, MovesHint(3, 4), w.Hint()}}
		got, _, err := ParseRequest(AppendRequest(nil, sent, &NoopReq{}))
		require.NoError(t, err)
		is, ok := got.Hints.Withdrawal()
		assert.True(t, ok)
		assert.Equal(t, w, is)
	}
	assert.Equal(t, "12 34 56", Withdrawal{12, 34, 56, false}.Hint().Text)
	assert.Equal(t, "12 34 56 open", Withdrawal{12, 34, 56, true}.Hint().Text)
	for _, bad := range []Hints{
		nil,
		{{Type: HintHandle, Value: 7}},
		{MovesHint(1, 2)},
		{{Type: 15, Name: HintWithdrawn, Text: "1 2 3"}},
		{{Name: HintWithdrawn, Text: ""}},
		{{Name: HintWithdrawn, Text: "1 2"}},
		{{Name: HintWithdrawn, Text: "1 2 3 4"}},
		{{Name: HintWithdrawn, Text: "-1 2 3"}},
		{{Name: HintWithdrawn, Text: "1 9223372036854775808 3"}},
		{{Name: HintWithdrawn, Text: "1 2 4294967296"}},
	} {
		_, ok := bad.Withdrawal()
		assert.False(t, ok, "%v", bad)
	}
}
