package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestHandles: a number finds its item, and nothing before or after that.
func TestHandles(t *testing.T) {
	var h handles[string]
	missing := func(number uint64) {
		t.Helper()
		_, ok := h.find(number)
		assert.False(t, ok, "%#x", number)
	}
	missing(0)
	a, b := h.add("a"), h.add("b")
	for number, want := range map[uint64]string{a: "a", b: "b"} {
		got, ok := h.find(number)
		assert.True(t, ok)
		assert.Equal(t, want, got)
	}
	missing(a + 1<<32)
	missing(b + 1)
	h.remove(a)
	missing(a)
	missing(a + 1<<32) // its index waits for the next item
	c := h.add("c")
	assert.Equal(t, uint32(a), uint32(c), "the index is used again")
	missing(a)
	got, _ := h.find(c)
	assert.Equal(t, "c", got)
}
