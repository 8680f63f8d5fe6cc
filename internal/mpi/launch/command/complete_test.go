package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		args, word string
		want       []string
	}{
		{"", "--w", []string{"--wdir"}},
		{"-n 4", "--no", []string{"--no-label"}},
		{"-n 4 a :", "--n", []string{"--np"}},
		{"-n 4 a", "--n", nil}, // an option of the program
		{"-n 4", "a", nil},
	} {
		offered, _ := complete(nil, strings.Fields(c.args), c.word)
		var names []string
		for _, one := range offered {
			name, usage, ok := strings.Cut(one, "\t")
			require.True(t, ok)
			assert.NotEmpty(t, usage)
			names = append(names, name)
		}
		assert.Equal(t, c.want, names, "%s %s", c.args, c.word)
	}
}

// TestTheShellIsAnswered: the hidden command of cobra that completion scripts call.
func TestTheShellIsAnswered(t *testing.T) {
	code, out, _ := run(t, "__complete -n 4 a : --wd")
	assert.Zero(t, code)
	assert.Contains(t, out, "--wdir\tworking directory")
}

func TestTheCommandHasItsOptions(t *testing.T) {
	for _, name := range []string{"np", "env", "timeout", "version"} {
		assert.NotNil(t, Command().Flags().Lookup(name), name)
	}
}
