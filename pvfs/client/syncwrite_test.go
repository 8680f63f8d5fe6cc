package client

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestSyncWriteEndsWithItsContext cancels the context of writes to a file with O_SYNC when the data has arrived at the server.
// The sync is not done then.
func TestSyncWriteEndsWithItsContext(t *testing.T) {
	k, fsys := newFake(t, Options{})
	b := []byte("some bytes")
	for what, write := range map[string]func(ctx context.Context, f *File) (int, error){
		"WriteCtx":    func(ctx context.Context, f *File) (int, error) { return f.WriteCtx(ctx, b) },
		"WriteAtCtx":  func(ctx context.Context, f *File) (int, error) { return f.WriteAtCtx(ctx, b, 0) },
		"WriteVecAt":  func(ctx context.Context, f *File) (int, error) { return f.WriteVecAt(ctx, [][]byte{b}, 0) },
		"WriteBlocks": func(ctx context.Context, f *File) (int, error) { return f.WriteBlocks(ctx, b, Blocks{0, 10, 10, 1}) },
		"WriteRegions": func(ctx context.Context, f *File) (int, error) {
			return f.WriteRegions(ctx, b, []Region{{Off: 0, Len: 10}})
		},
	} {
		f, err := fsys.OpenFile(context.Background(), "/f", os.O_RDWR|os.O_CREATE|os.O_SYNC, 0o644)
		require.NoError(t, err)
		n, err := write(context.Background(), f)
		require.NoError(t, err, what)
		assert.Equal(t, len(b), n, what)
		assert.Contains(t, k.take(), "FLUSH", what)

		ctx, cancel := context.WithCancel(context.Background())
		k.fail = func(req proto.Request, _ *proto.Header) (bool, error) {
			if req.Op() == proto.OpSmallIO {
				cancel()
			}
			return false, nil
		}
		n, err = write(ctx, f)
		k.fail = nil
		assert.ErrorIs(t, err, context.Canceled, what)
		assert.Equal(t, len(b), n, "%s: they are at the server", what)
		assert.NotContains(t, k.take(), "FLUSH", what)
		require.NoError(t, f.Close())
	}
}
