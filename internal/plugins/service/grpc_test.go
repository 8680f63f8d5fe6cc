//go:build linux

package service_test

import (
	"context"
	"net"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/viaduct-hpc/viaduct/internal/plugins/stream"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// connect is a client of the plugin.
func (p *plugin) connect() proto.MethodClient {
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.MaxRecvMsgSize(stream.RecordBytesMax))
	proto.RegisterMethodServer(server, p.server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	require.NoError(p.t, err)
	p.t.Cleanup(func() {
		assert.NoError(p.t, conn.Close())
		server.Stop()
		assert.NoError(p.t, <-served)
	})
	return proto.NewMethodClient(conn)
}
