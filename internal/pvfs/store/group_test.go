package store

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
)

// TestReadyUpdatesShare: updates that start at the same time take few transactions, also on one processor.
func TestReadyUpdatesShare(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := open(t, memory.Dir(t), Options{NoSyncMeta: true})
	before := s.Stats()
	const updates = 64
	var wait sync.WaitGroup
	for i := range updates {
		wait.Go(func() {
			assert.NoError(t, s.Update(func(tx *Tx) error { return tx.SetRecord(fmt.Sprint("key", i), []byte{1}) }))
		})
	}
	wait.Wait()
	after := s.Stats()
	assert.EqualValues(t, updates, after.Updates-before.Updates)
	assert.Less(t, after.Commits-before.Commits, uint64(updates/4))
}
