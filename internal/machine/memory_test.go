package machine

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMemory(t *testing.T) {
	assert.Greater(t, Memory(), 16<<20)
	gives := func(n uint64, err error) func() (uint64, error) { return func() (uint64, error) { return n, err } }
	unknown := gives(0, errors.New("unknown"))
	assert.Equal(t, 7, least(gives(9, nil), gives(7, nil)))
	assert.Equal(t, 9, least(gives(9, nil), unknown))
	assert.Equal(t, 9, least(gives(9, nil), gives(math.MaxUint64, nil)), "a group without a limit")
	assert.Equal(t, math.MaxInt, least(unknown, gives(0, nil)))
}

func TestShare(t *testing.T) {
	assert.Equal(t, 5, Share(math.MaxInt, 5, 10))
	assert.Equal(t, 10, Share(1, 5, 10))
	assert.Equal(t, Memory()/4, Share(4, 0, math.MaxInt))
}
