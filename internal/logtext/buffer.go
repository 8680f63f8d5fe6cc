// Package logtext holds what a test looks at of a log, or of other output that several
// goroutines write. The package is for tests only; nothing that ships imports it.
package logtext

import (
	"strings"
	"sync"
)

// A Buffer is what was written to it, by whichever goroutine. The zero value is empty.
type Buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String is all that was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
