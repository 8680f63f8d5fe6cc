package about

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestHold: what is opened during holds appears at once, when the last of them ends.
func TestHold(t *testing.T) {
	var seen, late []int
	defer Changed(func(n int) { seen = append(seen, n) })()
	one, two := Hold(), Hold()
	closeA := Opened("a")
	defer Changed(func(n int) { late = append(late, n) })()
	one()
	one()
	closeB := Opened("b")
	assert.Equal(t, []any{"a", "b"}, Live())
	assert.Equal(t, []int{0}, seen)
	assert.Empty(t, late)
	two()
	assert.Equal(t, []int{2}, late)
	closeA()
	closeB()
	assert.Equal(t, []int{0, 2, 1, 0}, seen)
}

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
