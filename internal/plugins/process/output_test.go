//go:build linux

package process

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPanicLine: the panic of a Go program says why it ended; a logged panic that the plugin
// survived does not.
func TestPanicLine(t *testing.T) {
	var o output
	o.remember([]byte(`{"@message":"panic: recovered","@level":"error"}`))
	assert.Empty(t, o.panicLine())
	o.remember([]byte("panic: for good"))
	o.remember([]byte("panic: another"))
	assert.Equal(t, "panic: for good", o.panicLine())
}
