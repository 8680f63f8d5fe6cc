package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1},
		{"abc", "xabc", 1}, {"abc", "axc", 1}, {"kitten", "sitting", 3}, {"abcd", "badc", 2},
	} {
		require.Equal(t, c.want, distance(c.a, c.b), "%q %q", c.a, c.b)
		require.Equal(t, c.want, distance(c.b, c.a), "%q %q", c.b, c.a)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"ID", "Name", "ReadOnly", "RootSquash", "RootSquashExceptions"}
	for misspelt, want := range map[string]string{
		"ReadOnyl": "ReadOnly", "READONLI": "ReadOnly", "RootSqush": "RootSquash", "DI": "ID", "Nme": "Name",
		"Wrong": "", "": "", "X": "", "NoSuchDirective": "", "RootSquashException": "RootSquashExceptions",
	} {
		require.Equal(t, want, nearest(misspelt, names), misspelt)
	}
}
