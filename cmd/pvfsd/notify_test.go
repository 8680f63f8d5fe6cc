package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/notifytest"
)

// A blockage is a log file that holds up the server which writes to it, as a disk or another program may.
type blockage struct {
	t    *testing.T
	path string
	fd   int
}

func newBlockage(t *testing.T) *blockage {
	b := &blockage{t: t, path: filepath.Join(t.TempDir(), "log")}
	require.NoError(t, syscall.Mkfifo(b.path, 0o600))
	var err error
	b.fd, err = unix.Open(b.path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(b.fd) })
	return b
}

// begin makes the next line of the log wait.
func (b *blockage) begin() {
	b.t.Helper()
	for piece := make([]byte, unix.Getpagesize()); ; {
		_, err := unix.Write(b.fd, piece)
		switch {
		case errors.Is(err, unix.EAGAIN) && len(piece) == 1:
			return
		case errors.Is(err, unix.EAGAIN):
			piece = piece[:1]
		default:
			require.NoError(b.t, err)
		}
	}
}

// end lets lines through again.
func (b *blockage) end() {
	b.t.Helper()
	for piece := make([]byte, 1<<16); ; {
		_, err := unix.Read(b.fd, piece)
		if errors.Is(err, unix.EAGAIN) {
			return
		}
		require.NoError(b.t, err)
	}
}

// sendGarbage sends a request that does not decode. The server logs that.
func sendGarbage(t *testing.T, address string) {
	t.Helper()
	ep, err := bmi.Open(context.Background(), bmi.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ep.Close()) })
	to, err := ep.Lookup(address)
	require.NoError(t, err)
	c, err := ep.OpenContext()
	require.NoError(t, err)
	require.NoError(t, c.SendUnexpected(context.Background(), to, 0, 1, []byte("garbage")))
}

// TestTheServiceManagerIsTold: systemd learns when the server is ready, reloads and stops. The watchdog gets signs of life
// while the server answers, and none while it hangs. It hangs here because its only worker waits for a log that is not
// read.
func TestTheServiceManagerIsTold(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "fs.conf")
	out, err := command(t, "genconfig", "-o", conf, "--insecure", "one=tcp://"+freeport.Address(t)).CombinedOutput()
	require.NoError(t, err, string(out))
	manager, log := notifytest.New(t), newBlockage(t)
	d := serveAs(t, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, manager.Env(), "WATCHDOG_USEC=300000")
	}, "--config", conf, "--dir", filepath.Join(t.TempDir(), "data"), "--create", "--workers", "1", "--log-file", log.path)
	require.Equal(t, "READY=1", manager.Next(), "before any sign of life")
	noop(t, d.addresses[0])
	require.Equal(t, "WATCHDOG=1", manager.Next())
	require.Equal(t, "WATCHDOG=1", manager.Next())

	log.begin()
	sendGarbage(t, d.addresses[0])
	require.Eventually(t, func() bool {
		_, quiet := manager.Quiet(time.Second)
		return quiet
	}, far, time.Millisecond, "signs of life go on")
	log.end()
	require.Equal(t, "WATCHDOG=1", manager.Next(), "the server answers again")

	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	state := manager.Next()
	for state == "WATCHDOG=1" {
		state = manager.Next()
	}
	reloading, when, _ := strings.Cut(state, "\n")
	require.Equal(t, "RELOADING=1", reloading)
	require.Regexp(t, `^MONOTONIC_USEC=\d+$`, when)
	manager.Until("READY=1")
	require.Zero(t, d.end(syscall.SIGTERM), d.rest.String())
	manager.Until("STOPPING=1")
}

// TestNoServiceManager: a mistake in the environment is reported, and without a manager nothing is sent.
func TestNoServiceManager(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "fs.conf")
	out, err := command(t, "genconfig", "-o", conf, "--insecure", "one=tcp://"+freeport.Address(t)).CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := command(t, "serve", "--config", conf, "--dir", filepath.Join(t.TempDir(), "data"), "--create")
	cmd.Env = append(cmd.Env, notifytest.New(t).Env(), "WATCHDOG_USEC=soon")
	out, err = cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Contains(t, string(out), "the watchdog of the service manager")

	d := serveAs(t, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "WATCHDOG_USEC=1000")
	}, "--config", conf, "--dir", filepath.Join(t.TempDir(), "data"), "--create")
	require.Zero(t, d.end(os.Interrupt))
	require.Contains(t, d.rest.String(), "stops after 0 requests", "it sent itself none")
}
