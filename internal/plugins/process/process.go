//go:build linux

package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// A Process is a plugin's process, which may have ended. Its methods may be called from any
// goroutine.
type Process struct {
	cfg    Config
	child  *child
	socket *net.UnixConn // our end of the pair
	conn   *grpc.ClientConn
	client proto.MethodClient

	passing sync.Mutex // one message at a time
	done    chan struct{}
}

// watch cleans up after the process.
func (p *Process) watch() {
	<-p.child.done
	_ = p.socket.Close()
	_ = p.conn.Close()
	_ = os.RemoveAll(p.child.socketDir)
	p.cfg.Log.Info("plugin ended", "pid", p.PID(), "status", p.child.ending())
	close(p.done)
}

// Client returns the client for calls to the plugin.
func (p *Process) Client() proto.MethodClient { return p.client }

// PID returns the process id.
func (p *Process) PID() int { return p.child.cmd.Process.Pid }

// Done is closed when the process is dead and reaped, and all its output is in the log.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err describes how the process ended, such as "plugin NAME ended: signal: killed"; nil before
// Done.
func (p *Process) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if line := p.child.out.panicLine(); line != "" {
		return fmt.Errorf("plugin %s ended: %s: %s", p.cfg.Name, p.child.ending(), line)
	}
	return fmt.Errorf("plugin %s ended: %s", p.cfg.Name, p.child.ending())
}

// Kill kills the process and its group, and returns when it is reaped.
func (p *Process) Kill() {
	p.child.kill()
	<-p.done
}

// Stop asks the process to end and returns when it has ended; after timeout the process is killed.
// Close the sessions before.
func (p *Process) Stop(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	// go-plugin's servers know this call; others notice the end of the pair, or the signal. Its
	// error does not matter: a server that ends may not have answered.
	err := p.conn.Invoke(ctx, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
	_ = p.socket.Close()
	if status.Code(err) == codes.Unimplemented {
		p.child.signal(unix.SIGTERM)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.cfg.Log.Warn("plugin does not end, it is killed", "pid", p.PID(), "waited", timeout)
		p.Kill()
	}
}
