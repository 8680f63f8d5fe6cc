package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Where{
		":9100": {"tcp", "", 9100, 9100}, "localhost:1": {"tcp", "localhost", 1, 1}, "[::1]:65535": {"tcp", "::1", 65535, 65535},
		":9100-9102": {"tcp", "", 9100, 9102}, ":2-1": {}, ":1-": {}, ":-1": {}, "dir:80": {}, "unix:9100": {},
		"unix:/a/b": {"unix", "/a/b", 0, 0}, "dir:/a/b/": {"dir", "/a/b", 0, 0}, "dir:/a/../b": {"dir", "/b", 0, 0},
		"": {}, "9100": {}, ":0": {}, ":65536": {}, ":http": {}, "unix:a": {}, "dir:": {}, "http://host:9100/": {}, "[::1": {}, "a:b:9100": {},
	} {
		got, err := Parse(text)
		assert.Equal(t, want, got, text)
		assert.Equal(t, want == Where{}, err != nil, "%s: %v", text, err)
	}
}

// local starts a server on loopback.
func local(t *testing.T) (*Server, string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := newServer(l, func() {})
	s.Serve()
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, "http://" + s.Addr().String()
}

// clientOf is a client without connections that outlive the test.
func clientOf(dial func(context.Context, string, string) (net.Conn, error)) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	r, err := c.Get(url)
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(body)
}

func TestPaths(t *testing.T) {
	_, at := local(t)
	code, body := get(t, clientOf(nil), at+"/snapshot")
	require.Equal(t, http.StatusOK, code)
	var s watch.Snapshot
	require.NoError(t, json.Unmarshal([]byte(body), &s))
	assert.Equal(t, os.Getpid(), s.PID)
	code, body = get(t, clientOf(nil), at+"/")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, "/snapshot")
	code, _ = get(t, clientOf(nil), at+"/../../etc/passwd")
	assert.Equal(t, http.StatusNotFound, code)
}

func TestOnlyReads(t *testing.T) {
	_, at := local(t)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodConnect, http.MethodTrace, "NONSENSE"} {
		req, err := http.NewRequest(method, at+"/snapshot", strings.NewReader("x"))
		require.NoError(t, err)
		r, err := clientOf(nil).Do(req)
		require.NoError(t, err)
		_ = r.Body.Close()
		assert.Equal(t, http.StatusMethodNotAllowed, r.StatusCode, method)
	}
}

// TestHostile: a client that sends nonsense gets an error or nothing, and the next client is served.
func TestHostile(t *testing.T) {
	s, at := local(t)
	long := strings.Repeat("x", 1<<20)
	for what, text := range map[string]string{
		"no HTTP":            "\x00\xff\x16\x03\x01 not http\r\n\r\n",
		"a long path":        "GET /" + long + " HTTP/1.1\r\nHost: a\r\n\r\n",
		"a long header":      "GET / HTTP/1.1\r\nHost: a\r\nX: " + long + "\r\n\r\n",
		"many headers":       "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: y\r\n", 10_000) + "\r\n",
		"two lengths":        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"a negative length":  "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
		"no host":            "GET / HTTP/1.1\r\n\r\n",
		"an unknown version": "GET / HTTP/9.9\r\nHost: a\r\n\r\n",
		"an upgrade":         "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"a bad chunk":        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		c, err := net.Dial("tcp", s.Addr().String())
		require.NoError(t, err)
		go func() { // the server may stop reading
			_, _ = io.WriteString(c, text)
			_ = c.(*net.TCPConn).CloseWrite()
		}()
		if r, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			assert.GreaterOrEqual(t, r.StatusCode, 400, what)
			_ = r.Body.Close()
		}
		_ = c.Close()
		code, _ := get(t, clientOf(nil), at+"/snapshot")
		assert.Equal(t, http.StatusOK, code, what)
	}
}

// TestManyConnections: connections beyond the limit wait until others end.
func TestManyConnections(t *testing.T) {
	s, at := local(t)
	var idle []net.Conn
	for range connectionsMax {
		c, err := net.Dial("tcp", s.Addr().String())
		require.NoError(t, err)
		idle = append(idle, c)
	}
	answered := make(chan int)
	go func() {
		r, err := clientOf(nil).Get(at + "/snapshot")
		if err != nil {
			answered <- 0
			return
		}
		_ = r.Body.Close()
		answered <- r.StatusCode
	}()
	for _, c := range idle {
		_ = c.Close()
	}
	assert.Equal(t, http.StatusOK, <-answered)
}

// TestClose: a server that is closed ends its connections, and leaves nothing behind (see TestMain).
func TestClose(t *testing.T) {
	s, _ := local(t)
	c, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, "GET /snapshot HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.NoError(t, s.Close())
	_, err = c.Read(make([]byte, 1))
	require.Error(t, err)
	require.NoError(t, s.Close(), "twice")
}

// TestServeLater: a request waits until the server serves, and gets what is there by then.
func TestServeLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	w, err := Parse("unix:" + path)
	require.NoError(t, err)
	s, err := Listen(w)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	c, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	Handle("/later", http.NotFoundHandler())
	Handle("/later/than/that", http.RedirectHandler("/", http.StatusFound))
	s.Serve()
	s.Serve() // changes nothing
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	assert.Equal(t, "404 page not found\n", string(body), "the handler's own answer")
}

// TestCloseUnserved: a place that was never served is free again.
func TestCloseUnserved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	w, err := Parse("unix:" + path)
	require.NoError(t, err)
	for range 2 {
		s, err := Listen(w)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		s.Serve() // too late
		require.NoFileExists(t, path)
	}
}

// TestPorts: of several ports, the first free one is taken, until none is left.
func TestPorts(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	free := taken.Addr().(*net.TCPAddr)
	w := Where{"tcp", "127.0.0.1", free.Port, free.Port}
	_, err = Listen(w)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.ErrorContains(t, err, "range of ports")
	w.last = min(free.Port+50, 65535)
	s, err := Listen(w)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	port := s.Addr().(*net.TCPAddr).Port
	assert.Greater(t, port, w.first)
	assert.LessOrEqual(t, port, w.last)
}

func dialUnix(path string) *http.Client {
	return clientOf(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	})
}

func listen(t *testing.T, where string) *Server {
	t.Helper()
	w, err := Parse(where)
	require.NoError(t, err)
	s, err := Listen(w)
	require.NoError(t, err)
	s.Serve()
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// dead is the number of a process that has ended.
func dead(t *testing.T) int {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	return cmd.Process.Pid
}

func TestSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	s := listen(t, "unix:"+path)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSocket|0o600, info.Mode())
	code, _ := get(t, dialUnix(path), "http://x/snapshot")
	assert.Equal(t, http.StatusOK, code)
	w, err := Parse("unix:" + path)
	require.NoError(t, err)
	_, err = Listen(w)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.NoError(t, s.Close())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestStaleSocket: a socket at which nobody listens is replaced, and a file never.
func TestStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	leave(t, path)
	s := listen(t, "unix:"+path)
	require.NoError(t, s.Close())
	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600))
	w, err := Parse("unix:" + path)
	require.NoError(t, err)
	_, err = Listen(w)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(text))
}

// leave leaves a socket, as a process that is killed does.
func leave(t *testing.T, path string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
}

func TestLongPath(t *testing.T) {
	_, _, err := listenAt(filepath.Join(t.TempDir(), strings.Repeat("x", pathBytesMax)))
	require.ErrorContains(t, err, "too long")
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	host, err := os.Hostname()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(dir, 0o700))
	gone := filepath.Join(dir, fmt.Sprintf("%s-%d%s", host, dead(t), Suffix))
	leave(t, gone)
	elsewhere := filepath.Join(dir, "another-host-1"+Suffix)
	leave(t, elsewhere)
	listen(t, "dir:"+dir+"/")
	own := filepath.Join(dir, host+"-"+strconv.Itoa(os.Getpid())+Suffix)
	code, _ := get(t, dialUnix(own), "http://x/snapshot")
	assert.Equal(t, http.StatusOK, code)
	assert.NoFileExists(t, gone)
	assert.FileExists(t, elsewhere, "this host does not know whether it is in use")
}

// TestSweepIsSeldom: not each process of a large job looks at the sockets of all others.
func TestSweepIsSeldom(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1e9, 0)
	gone := filepath.Join(dir, fmt.Sprintf("h-%d%s", dead(t), Suffix))
	require.NoError(t, sweep(dir, "h", now))
	leave(t, gone)
	require.NoError(t, sweep(dir, "h", now.Add(sweepEvery-1)))
	assert.FileExists(t, gone)
	require.NoError(t, sweep(dir, "h", now.Add(sweepEvery)))
	assert.NoFileExists(t, gone)
}

func TestBadFolders(t *testing.T) {
	dir := t.TempDir()
	open, file := filepath.Join(dir, "open"), filepath.Join(dir, "file")
	require.NoError(t, os.Mkdir(open, 0o700))
	require.NoError(t, os.Chmod(open, 0o750))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "link")))
	for path, want := range map[string]string{
		open: "chmod 700", file: "no folder", filepath.Join(dir, "link"): "no folder", filepath.Join(dir, "a/b"): "no such file", "/": "",
	} {
		_, err := ownName(path)
		require.Error(t, err, path)
		assert.ErrorContains(t, err, want, path)
	}
}
