package proto

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFacts(t *testing.T) {
	f := Facts{Type: TypeDirectory, Owner: 1<<32 - 1, Group: 7, Perms: 0o7777, Parent: 1<<64 - 1, May: MayAll}
	require.Equal(t, "4 4294967295 7 4095 18446744073709551615 4294967295", string(f.Value()))
	got, err := ParseFacts(f.Value())
	require.NoError(t, err)
	require.Equal(t, f, got)
	for _, text := range []string{"", "1", "1 2 3 4 5", "1 2 3 4 5 6 7", "1 2 3 4 5 -6", "1 2 3 4 5 4294967296", "4294967296 2 3 4 5 6", "1 2 3 4 18446744073709551616 6", "1  3 4 5 6"} {
		_, err := ParseFacts([]byte(text))
		require.Equal(t, EINVAL, err, "%q", text)
	}
}

func TestUserHint(t *testing.T) {
	uid, groups, ok := Hints{UserHint(1<<32-1, []uint32{5, 0})}.User()
	require.True(t, ok)
	require.Equal(t, uint32(1<<32-1), uid)
	require.Equal(t, []uint32{5, 0}, groups)
	for _, text := range []string{"", "1", "1 ", "1 x", "1 -1", "4294967296 1", "1" + strings.Repeat(" 1", MaxGroups+1)} {
		_, _, ok := Hints{{Name: HintUser, Text: text}}.User()
		require.False(t, ok, "%q", text)
	}
}
