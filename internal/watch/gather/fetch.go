package gather

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
)

// headersMax limits the headers of an answer.
const headersMax = 64 << 10

// errForeign: a process of another user listens at a socket in a folder.
var errForeign = errors.New("a process of another user listens there; name it by unix:PATH to ask it all the same")

// A source is one process that is asked, over one connection that stays open.
type source struct {
	target Target
	client *http.Client
	close  func()
	ranker table.Ranker // for processes that send all their peers
}

func newSource(t Target, inFolder bool) *source {
	transport := &http.Transport{
		MaxConnsPerHost: 1, MaxResponseHeaderBytes: headersMax, DisableCompression: true, IdleConnTimeout: time.Minute,
	}
	if t.kind == socket {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, t.at, inFolder) }
	}
	return &source{
		target: t, close: transport.CloseIdleConnections,
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect }},
	}
}

var errRedirect = errors.New("it sends its readers to another address, which metrics do not")

// dialSocket connects to a socket. For a socket in a folder, it checks the user of the process that listens. The owner of the
// file is not enough, because the file may have been replaced since.
func dialSocket(ctx context.Context, path string, inFolder bool) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil || !inFolder {
		return conn, err
	}
	uid, err := listener(conn.(*net.UnixConn))
	if err == nil && !trusted(uid) {
		err = errForeign
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// listener is the user that listens at the other end.
func listener(conn *net.UnixConn) (uid uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	if e := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); e != nil {
		return 0, e
	}
	if err != nil {
		return 0, err
	}
	return cred.Uid, nil
}

// fetch asks for a snapshot with the peers that a query wants. The process may send all of them.
func (s *source) fetch(ctx context.Context, q table.Query) (*watch.Snapshot, error) {
	host := s.target.at
	if s.target.kind == socket {
		host = "localhost"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/snapshot?"+q.Values().Encode(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, plain(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		return nil, fmt.Errorf("it answers %d instead of a snapshot: %s", resp.StatusCode, Clean(strings.TrimSpace(string(text))))
	}
	snapshot, err := Read(resp.Body)
	if err != nil {
		return nil, plain(ctx, err)
	}
	return s.ranker.Rank(snapshot, q), nil
}

// plain is an error without the URL and the method in front.
func plain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return errors.New("no answer in time")
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return errGone
	}
	for {
		inner := errors.Unwrap(err)
		var op *net.OpError
		if inner == nil || !strings.HasPrefix(err.Error(), "Get ") && !errors.As(err, &op) {
			return err
		}
		err = inner
	}
}

// errGone: nobody listens.
var errGone = errors.New("nobody listens there")
