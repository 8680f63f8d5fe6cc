package about

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLive(t *testing.T) {
	var seen []int
	stop := Changed(func(n int) { seen = append(seen, n) })
	closeA := Opened("a")
	closeSame := Opened("a")
	assert.Equal(t, []any{"a", "a"}, Live())
	closeA()
	assert.Equal(t, []any{"a"}, Live())
	closeB := Opened("b")
	closeSame()
	assert.Equal(t, []any{"b"}, Live())
	stop()
	closeB()
	assert.Empty(t, Live())
	assert.Equal(t, []int{0, 1, 2, 1, 2, 1}, seen)
}
