package rpc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestLargeAnswersSideBySide: no two sessions share the memory of an answer, in whatever order they return it.
func TestLargeAnswersSideBySide(t *testing.T) {
	n := proto.MaxResponse(proto.OpListAttr)
	require.Greater(t, n, replyKeptBytesMax)
	for range 100 {
		sessions := make([]session, 3)
		for _, backwards := range []bool{false, true} {
			rooms := map[*byte]bool{}
			for i := range sessions {
				if backwards {
					i = len(sessions) - 1 - i
				}
				rooms[&sessions[i].room(n)[0]] = true
			}
			require.Len(t, rooms, len(sessions), "sessions share memory")
			for i := range sessions {
				sessions[i].giveBig()
			}
		}
	}
}
