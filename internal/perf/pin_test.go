package perf

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestPinThreadBindsAndReleases(t *testing.T) {
	allowed, err := AllowedCores()
	require.NoError(t, err)
	require.NotEmpty(t, allowed)

	last := allowed[len(allowed)-1]
	undo, err := PinThread(last)
	require.NoError(t, err)
	during, err := AllowedCores()
	require.NoError(t, err)
	assert.Equal(t, []int{last}, during)
	undo()

	var set unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &set))
	_, err = PinThread(1 << 9)
	assert.ErrorContains(t, err, "core 512")
}

func TestParsePin(t *testing.T) {
	allowed, err := AllowedCores()
	require.NoError(t, err)

	off, err := ParsePin("off")
	require.NoError(t, err)
	assert.False(t, off.Pinned)
	assert.Equal(t, "off", off.String())

	on, err := ParsePin("on")
	require.NoError(t, err)
	assert.Equal(t, len(allowed) >= 2, on.Pinned)
	if on.Pinned {
		assert.NotEqual(t, on.Near, on.Far)
	}

	same, err := ParsePin(fmt.Sprintf("%d,%d", allowed[0], allowed[0]))
	require.NoError(t, err)
	assert.Equal(t, Cores{Pinned: true, Near: allowed[0], Far: allowed[0]}, same)

	for _, bad := range []string{"maybe", "1", "0,", "a,b", "-1,0", "0,100000"} {
		_, err := ParsePin(bad)
		require.Error(t, err, bad)
		assert.Contains(t, err.Error(), "bad --pin")
	}
}
