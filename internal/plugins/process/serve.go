//go:build linux

package process

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// Serve is the main function of a plugin. It does the handshake with the program that started it,
// calls register to add services to a gRPC server, and serves. It does not return: when the program
// asks for it, or has ended, the process exits, even if the services are still busy.
//
// After the program's first call, os.Stdout is os.Stderr: printed text becomes records in the
// program's log.
func Serve(register func(grpc.ServiceRegistrar, *Inherited)) {
	if environ.Getenv(CookieKey) != CookieValue {
		fmt.Fprintln(os.Stderr, byHand(os.Args[0]))
		os.Exit(1)
	}
	log := NewLogger(os.Stderr)
	inherited, err := inherit()
	if err != nil {
		log.Error("plugin cannot start", "error", err)
		os.Exit(1)
	}
	if inherited != nil {
		go func() {
			_ = inherited.receive()
			os.Exit(0) // the program has ended; nothing can be reported
		}()
	}
	served := serve(register, inherited, hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr, JSONFormat: true}))
	if !served {
		os.Exit(1) // go-plugin has printed the reason
	}
	os.Exit(0)
}

// byHand explains a plugin to a user who started it.
func byHand(path string) string {
	name := filepath.Base(path)
	return name + ": this is a plugin with BMI methods, which a program loads (BMI_PLUGINS=" + path + ", or plugins.Load); to try it alone: bmi plugins check " + path
}

// serve returns when the program asked for the end, and whether the program made any call.
func serve(register func(grpc.ServiceRegistrar, *Inherited), inherited *Inherited, log hclog.Logger) (served bool) {
	// go-plugin turns standard output and error into pipes, which it reads only on request. No
	// request comes: the program reads the error output itself. A writer that has filled a pipe by
	// then would wait until its end is closed.
	stderr := os.Stderr
	var first sync.Once
	restore := func() {
		first.Do(func() {
			served = true
			pipes := []*os.File{os.Stdout, os.Stderr}
			os.Stdout, os.Stderr = stderr, stderr
			for _, end := range pipes {
				_ = end.Close() // its contents are lost, and no writer waits any more
			}
		})
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake(),
		Plugins: plugin.PluginSet{setName: servicePlugin{register: func(s grpc.ServiceRegistrar) {
			register(s, inherited)
		}}},
		Logger: log,
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(o,
				grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32),
				grpc.ChainUnaryInterceptor(func(ctx context.Context, q any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
					restore()
					return h(ctx, q)
				}),
				grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
					restore()
					return h(srv, s)
				}),
			)...)
		},
	})
	first.Do(func() {}) // no handler is writing served any more
	return served
}

// servicePlugin is our service as a go-plugin plugin.
type servicePlugin struct {
	plugin.NetRPCUnsupportedPlugin
	register func(grpc.ServiceRegistrar)
}

func (p servicePlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	p.register(s)
	return nil
}

// GRPCClient is not called: the program makes its own connection.
func (servicePlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}
