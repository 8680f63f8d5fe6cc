package mpi

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// TestAcknowledgeNeverLess: of two concurrent calls of AckFailed, the one that found fewer failures
// may be the last to record them.
func TestAcknowledgeNeverLess(t *testing.T) {
	var parts commParts
	a, b := new(core.Proc), new(core.Proc)
	parts.acknowledge([]*core.Proc{a, b})
	parts.acknowledge([]*core.Proc{a})
	assert.Len(t, parts.acked, 2)
	parts.acknowledge(nil)
	assert.Len(t, parts.acked, 2)
}
