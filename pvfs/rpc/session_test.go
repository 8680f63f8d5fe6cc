package rpc

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestLargeAnswersSideBySide: each caller has its answer to itself, however large, while
// sessions come and go.
func TestLargeAnswersSideBySide(t *testing.T) {
	var sessions sync.WaitGroup
	for id := range byte(8) {
		sessions.Go(func() {
			var s session
			for range 2000 {
				b := s.room(proto.MaxResponse(proto.OpReadDir))
				for i := range 64 {
					b[i] = id
				}
				for i := range 64 {
					if !assert.Equal(t, id, b[i], "another caller wrote here") {
						return
					}
				}
				s.giveBig()
			}
		})
	}
	sessions.Wait()
}
