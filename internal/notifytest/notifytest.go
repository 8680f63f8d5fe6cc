// Package notifytest is a service manager for tests: it receives what a program tells systemd by sd_notify(3).
package notifytest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// A Manager receives messages at a socket.
type Manager struct {
	t    testing.TB
	path string
	conn *net.UnixConn
}

// New makes a manager, which ends with the test.
func New(t testing.TB) *Manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify-") // the path of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m := &Manager{t: t, path: filepath.Join(dir, "socket")}
	m.conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.conn.Close() })
	return m
}

// Env is the environment variable that names the socket.
func (m *Manager) Env() string { return "NOTIFY_SOCKET=" + m.path }

// Path is the path of the socket.
func (m *Manager) Path() string { return m.path }

// Next waits for a message.
func (m *Manager) Next() string {
	m.t.Helper()
	text, ok := m.within(wallclock.Patience)
	require.True(m.t, ok, "no message comes")
	return text
}

// Until waits for a message and drops those before it.
func (m *Manager) Until(want string) {
	m.t.Helper()
	for m.Next() != want {
	}
}

// Quiet reports that no message comes for a time. If messages come, it returns one of them.
func (m *Manager) Quiet(d time.Duration) (text string, quiet bool) {
	m.t.Helper()
	text, ok := m.within(d)
	return text, !ok
}

func (m *Manager) within(d time.Duration) (string, bool) {
	m.t.Helper()
	require.NoError(m.t, m.conn.SetReadDeadline(time.Now().Add(d)))
	b := make([]byte, 4096)
	n, err := m.conn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "", false
	}
	require.NoError(m.t, err)
	return string(b[:n]), true
}
