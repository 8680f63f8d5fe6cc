package pvfs

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lendingFile is a file that lends memory for a limited number of pieces.
type lendingFile struct {
	*bytes.Reader
	mu        sync.Mutex
	lent, all int
	most      int // limit for the number of pieces
}

func (f *lendingFile) ReadMemory(size int) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == f.most {
		return nil
	}
	f.lent++
	f.all++
	return make([]byte, size)
}

func (f *lendingFile) ReturnMemory([]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lent--
}

// written is a file in memory with concurrent writers.
type written struct {
	mu   sync.Mutex
	data []byte
}

func (w *written) WriteAt(b []byte, off int64) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return copy(w.data[off:], b), nil
}

// TestCopyBytes copies through its own blocks, and through those of the file, also if the file has fewer than requested.
func TestCopyBytes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, sharedMin - 1, sharedMin, 3*sharedBytes + 17, blockBytes + 5} {
		data := make([]byte, size)
		_, _ = random.Read(data)
		for _, most := range []int{0, 1, 2, 1000} {
			from := &lendingFile{Reader: bytes.NewReader(data), most: most}
			to := &written{data: make([]byte, size)}
			told := int64(0)
			var mu sync.Mutex
			n, err := copyBytes(context.Background(), to, from, int64(size), func(k int) {
				mu.Lock()
				defer mu.Unlock()
				told += int64(k)
			})
			require.NoError(t, err)
			assert.Equal(t, int64(size), n)
			assert.Equal(t, int64(size), told)
			assert.True(t, bytes.Equal(data, to.data), "%d bytes, %d pieces", size, most)
			assert.Zero(t, from.lent, "memory was not given back")
			assert.Equal(t, size >= sharedMin && most > 0, from.all > 0)
		}
	}
}
