package pvfsd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSizeFlag(t *testing.T) {
	var n int
	flag := sizeFlag{&n, 1 << 20}
	for text, want := range map[string]int{"0": 0, "64": 64 << 20, "64MiB": 64 << 20, "1 GiB": 1 << 30, "65536B": 65536} {
		require.NoError(t, flag.Set(text), text)
		assert.Equal(t, want, n, text)
	}
	assert.Equal(t, "64 KiB", sizeFlag{&[]int{65536}[0], 1}.String())
	for text, says := range map[string]string{"-1": "not negative", "9223372036854775807": "can address", "64X": "bad size"} {
		assert.ErrorContains(t, flag.Set(text), says, text)
	}
}
