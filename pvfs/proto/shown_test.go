package proto

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShownCapability(t *testing.T) {
	c := Capability{
		Issuer: "S:one 12 1000:1000", FS: 7, Signature: []byte{1, 2, 3}, Timeout: time.Unix(1000, 0).UTC(), Mask: MayRead | MaySetAttr, Handles: []Handle{5, 6},
	}
	hint, ok := ShowsHint(&c)
	require.True(t, ok)
	got, ok := Hints{{Type: HintHandle, Value: 5}, hint}.Shows()
	require.True(t, ok)
	require.Equal(t, c, got)
	c.Handles = make([]Handle, MaxHandles)
	_, ok = ShowsHint(&c)
	require.False(t, ok, "it is too long for a hint")
	for _, text := range []string{"", "?", hint.Text + "AAAA", hint.Text[:len(hint.Text)-8], strings.Repeat("A", 400)} {
		_, ok := Hints{{Name: HintShows, Text: text}}.Shows()
		require.False(t, ok, "%q", text)
	}
	_, ok = Hints{}.Shows()
	require.False(t, ok)
	require.True(t, Hints{GivesHint()}.Gives())
	require.False(t, Hints{hint}.Gives())
}
