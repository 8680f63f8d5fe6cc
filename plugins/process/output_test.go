//go:build linux

package process

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPanicLine: what a Go program's runtime says at its end is why it ended; what a plugin
// logs about a panic that it survived is not.
func TestPanicLine(t *testing.T) {
	var o output
	o.remember([]byte(`{"@message":"panic: recovered","@level":"error"}`))
	assert.Empty(t, o.panicLine())
	o.remember([]byte("panic: for good"))
	o.remember([]byte("panic: another"))
	assert.Equal(t, "panic: for good", o.panicLine())
}
