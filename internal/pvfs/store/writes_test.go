package store

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWritesAfterClose: they are not noted, and one that is under way when the store is closed keeps its slot until it ends.
func TestWritesAfterClose(t *testing.T) {
	w, err := openWrites(filepath.Join(t.TempDir(), writesName))
	require.NoError(t, err)
	slot := w.begin(7, 1, 2)
	w.close()
	assert.NotEqual(t, noSlot, slot)
	w.end(slot) // the table is still mapped
	assert.Len(t, w.free, writesSlots)
	w.close()
	slot = w.begin(7, 1, 2)
	assert.Equal(t, noSlot, slot)
	w.end(slot)
}
