// Package logtext collects a log, or other output that several goroutines write, for
// inspection by a test. The package is for tests only; no shipped code imports it.
package logtext

import (
	"strings"
	"sync"
)

// A Buffer collects what is written to it, by any goroutine. The zero value is empty.
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

// String returns everything written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
