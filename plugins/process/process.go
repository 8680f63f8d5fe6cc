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

// A Process is a plugin that runs, or did. Its methods may be called by any goroutine.
type Process struct {
	cfg    Config
	child  *child
	socket *net.UnixConn // our end of the pair
	conn   *grpc.ClientConn
	client proto.MethodClient

	passing sync.Mutex // one message after the other
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

// Client asks the plugin.
func (p *Process) Client() proto.MethodClient { return p.client }

// PID is the number of the process.
func (p *Process) PID() int { return p.child.cmd.Process.Pid }

// Done is closed when the process is dead and reaped, and all it said is in the log.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the process ended, as "plugin NAME ended: signal: killed"; nil before Done.
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

// Kill ends the process at once, and what it started, and returns when it is reaped.
func (p *Process) Kill() {
	p.child.kill()
	<-p.done
}

// Stop asks the process to end and returns when it has; after timeout it is killed. What
// sessions hold is to be closed before.
func (p *Process) Stop(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	// go-plugin's servers know this call; others are told by the end of the pair, or the
	// signal. That it fails says nothing else: a server that ends may not have answered.
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
