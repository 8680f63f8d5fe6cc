package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/viaduct-hpc/viaduct/plugins"
)

// TestHungUp: when the process is dead, our end of the connection is closed before Done. Errors of
// calls and streams in between are not the plugin's fault.
func TestHungUp(t *testing.T) {
	conn, err := grpc.NewClient("passthrough:///nowhere", grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	err = conn.Invoke(context.Background(), "/a/b", &emptypb.Empty{}, &emptypb.Empty{})
	require.Error(t, err)
	assert.True(t, plugins.HungUp(fmt.Errorf("receive from the plugin: %w", err)), "%v", err)

	for _, code := range []codes.Code{codes.OK, codes.Unknown, codes.InvalidArgument, codes.DeadlineExceeded, codes.Internal} {
		assert.False(t, plugins.HungUp(status.Error(code, "")), "%v", code)
	}
	assert.True(t, plugins.HungUp(status.Error(codes.Unavailable, "")))
	assert.False(t, plugins.HungUp(errors.New("something else")))
}
