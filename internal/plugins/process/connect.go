//go:build linux

package process

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// connect makes the only connection to the plugin. It does not use go-plugin's, which has a broker
// that keeps everything a plugin sends to it.
func (p *Process) connect(ctx context.Context, c *plugin.ClientConfig, address net.Addr) error {
	secret := insecure.NewCredentials()
	if c.TLSConfig != nil {
		secret = credentials.NewTLS(c.TLSConfig)
	}
	conn, err := grpc.NewClient("passthrough:///plugin",
		grpc.WithTransportCredentials(secret),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, address.Network(), address.String())
		}),
		grpc.WithIdleTimeout(0), // the socket's file is removed: it cannot connect again
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithUnaryInterceptor(limitAnswer),
	)
	if err != nil {
		return err
	}
	p.conn, p.client = conn, proto.NewMethodClient(conn)
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: plugin.GRPCServiceName})
	switch {
	case status.Code(err) == codes.Unimplemented: // any answer will do
	case err != nil:
		return fmt.Errorf("%w: it says that it serves on %s, but there it answers %s", ErrNotAPlugin, quote(address.String()), quote(err.Error()))
	case answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
		return fmt.Errorf("%w: it says that it is not serving (gRPC health: %s)", ErrNotAPlugin, answer.GetStatus())
	}
	return os.RemoveAll(p.child.socketDir)
}

// A stream carries messages of users, which may be large. An answer to a call is small, unless a
// plugin tries to fill the program's memory.
const answerBytesMax = 16 << 20

func limitAnswer(ctx context.Context, method string, q, a any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
	return call(ctx, method, q, a, c, append(o, grpc.MaxCallRecvMsgSize(answerBytesMax))...)
}
