package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
)

// pairSettings are the settings of a tool that measures between its own two
// processes.
type pairSettings struct {
	env []string
	// The number of iterations must be given beforehand: it fills the time if one
	// iteration takes about step seconds plus the time of its bytes.
	step, bytesPerSecond float64
	// atLeast is the shortest time for a point, for tools whose numbers include
	// work that is done only once.
	atLeast time.Duration
}

// iterations returns how many messages of a size fill the time of a point.
func (s pairSettings) iterations(point time.Duration, size int) int {
	return max(20, int(max(point, s.atLeast).Seconds()/(s.step+float64(size)/s.bytesPerSecond)))
}

// pairOfPrograms runs a program twice, as a server on the far core and as a client
// on the near one, and returns the client's output. The client is started again
// while the server does not listen yet.
func pairOfPrograms(ctx context.Context, cfg config, env []string, name string, args func(port int) (server, client []string)) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	serverArgs, clientArgs := args(port)
	server := exec.CommandContext(ctx, name, serverArgs...)
	server.Env = append(os.Environ(), env...)
	if err := startPinned(server, cfg.cores.Far); err != nil {
		return nil, err
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	const tries, pause = 40, 25 * time.Millisecond
	var last error
	for range tries {
		time.Sleep(pause)
		client := exec.CommandContext(ctx, name, clientArgs...)
		client.Env = append(os.Environ(), env...)
		var out, errs bytes.Buffer
		client.Stdout, client.Stderr = &out, &errs
		if last = startPinned(client, cfg.cores.Near); last != nil {
			return nil, last
		}
		if last = client.Wait(); last == nil {
			return out.Bytes(), nil
		}
		last = fmt.Errorf("%s: %w: %s", name, last, lastLine(errs.String()))
		if ctx.Err() != nil {
			return nil, last
		}
	}
	return nil, last
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
