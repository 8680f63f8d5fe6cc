package mpi

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A port is a TCP listener. Its name is "tcp://host:port/" and a token. A process that connects
// sends portGreeting and the token. When it is accepted it receives portAnswer, and sends
// portConfirm if it is still waiting; then the leaders of two groups talk over the connection. A
// process that is expected but cannot connect sends portDecline, the token and the reason, and gets
// no answer.
const (
	portScheme   = "tcp://"
	portGreeting = "viaduct mpi port 1 "
	portDecline  = "viaduct mpi deny 1 " // same length as portGreeting
	portAnswer   = "accepted\n"
	portConfirm  = "here\n"
	tokenBytes   = 16
	// greetTimeMax limits the time for the greeting of a new connection, and greetsMax the number
	// of connections that have not greeted yet.
	greetTimeMax = 5 * time.Second
	greetsMax    = 16
	// reasonBytesMax limits the reason that is read after portDecline.
	reasonBytesMax = 1000
)

// ports holds the open ports of a process.
type ports struct {
	mu     sync.Mutex
	byName map[string]*port
	closed bool // no port may be added; guarded by mu
}

type port struct {
	ln    net.Listener
	token string
	life  context.Context // until the port is closed
	end   func()
	ready chan arrival // connections that have greeted and wait to be accepted
	work  sync.WaitGroup

	failed chan struct{} // closed when the listener has failed for good
	cause  error         // the error of the listener; set before failed is closed
}

// An arrival is a connection that has greeted, or the reason why none will come.
type arrival struct {
	conn net.Conn // nil if there is an error
	err  error
}

// open opens a port that listens on a host, and returns its name.
func (ps *ports) open(ctx context.Context, host string) (string, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", errclass.Wrap(errclass.Port, err, "cannot listen on %s", host)
	}
	return ps.add(ln)
}

// add makes a port of a listener, and returns its name. After closeAll it closes the listener
// instead.
func (ps *ports) add(ln net.Listener) (string, error) {
	var token [tokenBytes]byte
	_, _ = rand.Read(token[:]) // never fails
	o := &port{ln: ln, token: hex.EncodeToString(token[:]), ready: make(chan arrival), failed: make(chan struct{})}
	o.life, o.end = context.WithCancel(background)
	name := portScheme + ln.Addr().String() + "/" + o.token
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.closed {
		_ = ln.Close()
		return "", errFinalized
	}
	if ps.byName == nil {
		ps.byName = map[string]*port{}
	}
	ps.byName[name] = o
	o.work.Go(o.listen)
	return name, nil
}

func (ps *ports) find(name string) (*port, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if o := ps.byName[name]; o != nil {
		return o, nil
	}
	return nil, errclass.New(errclass.Port, "%q is not an open port of this process: take the name that OpenPort returned", name)
}

func (ps *ports) close(name string) error {
	o, err := ps.find(name)
	if err != nil {
		return err
	}
	ps.mu.Lock()
	_, mine := ps.byName[name]
	delete(ps.byName, name)
	ps.mu.Unlock()
	if mine {
		o.close()
	}
	return nil
}

// closeAll closes all open ports. No port can be opened afterwards.
func (ps *ports) closeAll() {
	ps.mu.Lock()
	all := ps.byName
	ps.byName, ps.closed = nil, true
	ps.mu.Unlock()
	for _, o := range all {
		o.close()
	}
}

func (o *port) close() {
	o.end()
	_ = o.ln.Close()
	o.work.Wait()
}

// listen accepts connections until the port is closed or its listener fails.
func (o *port) listen() {
	greeting := make(chan struct{}, greetsMax)
	for {
		conn, err := o.take()
		if o.life.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return
		}
		if err != nil {
			o.cause = errclass.Wrap(errclass.Port, err, "the port cannot accept connections any more: close it and open another one")
			close(o.failed)
			_ = o.ln.Close() // so that no peer waits there
			return
		}
		greeting <- struct{}{}
		o.work.Go(func() {
			defer func() { <-greeting }()
			o.greet(conn)
		})
	}
}

// greet passes a connection to accept if the peer knows the token.
func (o *port) greet(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(greetTimeMax))
	// A port that closes does not wait for a silent peer.
	stop := context.AfterFunc(o.life, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	a, ok := o.hear(conn)
	ok = stop() && ok
	if !ok || a.err != nil {
		_ = conn.Close()
	}
	if !ok {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	select {
	case o.ready <- a:
	case <-o.life.Done():
		_ = conn.Close()
	}
}

// hear reads a peer's greeting; ok is false if the peer does not know the token.
func (o *port) hear(conn net.Conn) (a arrival, ok bool) {
	greeting, decline := []byte(portGreeting+o.token+"\n"), []byte(portDecline+o.token+"\n")
	got := make([]byte, len(greeting))
	if _, err := io.ReadFull(conn, got); err != nil {
		return arrival{}, false
	}
	switch {
	case subtle.ConstantTimeCompare(got, greeting) == 1:
		return arrival{conn: conn}, true
	case subtle.ConstantTimeCompare(got, decline) == 1:
		why, _ := io.ReadAll(io.LimitReader(conn, reasonBytesMax)) // part of the reason is better than none
		return arrival{err: errclass.New(errclass.Port, "the other group cannot connect; one of its processes reports %q", why)}, true
	}
	return arrival{}, false
}

// accept waits for a connection to a port.
func (ps *ports) accept(ctx context.Context, name string) (net.Conn, error) {
	o, err := ps.find(name)
	if err != nil {
		return nil, err
	}
	for {
		select {
		case a := <-o.ready:
			if a.err != nil {
				return nil, a.err
			}
			if a.confirm(ctx) {
				return a.conn, nil
			}
			_ = a.conn.Close() // the peer has given up meanwhile
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		case <-o.life.Done():
			return nil, errclass.New(errclass.Port, "the port was closed while Accept waited")
		case <-o.failed:
			return nil, o.cause
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// confirm tells a peer that it is accepted, and returns whether the peer is still there.
func (a arrival) confirm(ctx context.Context) bool {
	_ = a.conn.SetDeadline(time.Now().Add(greetTimeMax))
	got := make([]byte, len(portConfirm))
	err := bounded(ctx, a.conn, func() error {
		if _, err := a.conn.Write([]byte(portAnswer)); err != nil {
			return err
		}
		_, err := io.ReadFull(a.conn, got)
		return err
	})
	return err == nil && string(got) == portConfirm && a.conn.SetDeadline(time.Time{}) == nil
}

// reachPort connects to the address of a port, and returns the port's token.
func reachPort(ctx context.Context, name string) (conn net.Conn, token string, err error) {
	rest, ok := strings.CutPrefix(name, portScheme)
	addr, token, found := strings.Cut(rest, "/")
	if !ok || !found || len(token) != 2*tokenBytes {
		return nil, "", errclass.New(errclass.Port, "%.100q is not the name of a port: pass the name that OpenPort returned unchanged", name)
	}
	var d net.Dialer
	conn, err = d.DialContext(ctx, "tcp", addr)
	if ended := ended(ctx); err != nil && ended != nil {
		return nil, "", ended
	}
	if err != nil {
		return nil, "", errclass.Wrap(errclass.Port, err, "no process listens on the port")
	}
	return conn, token, nil
}

// ended is why ctx has ended, or nil. The deadline counts even if the timer of ctx has not run yet: the
// network's own timer for the same deadline may have run first, and then an error says "i/o timeout".
func ended(ctx context.Context) error {
	if at, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// declinePort tells the process waiting in accept that the expected group will not connect.
func declinePort(ctx context.Context, name string, why error) error {
	conn, token, err := reachPort(ctx, name)
	if err != nil {
		return err
	}
	err = bounded(ctx, conn, func() error {
		_, err := fmt.Fprintf(conn, "%s%s\n%.*s", portDecline, token, reasonBytesMax, why)
		return err
	})
	return errors.Join(err, conn.Close())
}

// dialPort connects to a port, and waits until the connection is accepted.
func dialPort(ctx context.Context, name string) (net.Conn, error) {
	conn, token, err := reachPort(ctx, name)
	if err != nil {
		return nil, err
	}
	answer := make([]byte, len(portAnswer))
	err = bounded(ctx, conn, func() error {
		if _, err := conn.Write([]byte(portGreeting + token + "\n")); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != portAnswer {
			return err
		}
		_, err := conn.Write([]byte(portConfirm))
		return err
	})
	if err == nil && string(answer) == portAnswer {
		return conn, nil
	}
	_ = conn.Close()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, errclass.Wrap(errclass.Port, err, "the port was closed, or is not the one that was meant")
}

// bounded runs fn; when ctx ends, fn's reads and writes on conn fail.
func bounded(ctx context.Context, conn net.Conn, fn func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err := fn()
	if !stop() && ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// A connBridge is a bridge over a connection.
type connBridge struct {
	ctx  context.Context
	conn net.Conn
}

func (b connBridge) swap(out []byte, limit int) (in []byte, err error) {
	err = bounded(b.ctx, b.conn, func() error {
		sent := make(chan error, 1)
		go func() {
			frame := binary.LittleEndian.AppendUint64(nil, uint64(len(out)))
			_, err := b.conn.Write(append(frame, out...))
			sent <- err
		}()
		var rerr error
		if in, rerr = readFrame(b.conn, limit); rerr != nil {
			_ = b.conn.SetWriteDeadline(time.Unix(1, 0)) // otherwise the write might never end
		}
		return errors.Join(rerr, <-sent)
	})
	if err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "lost the other group's leader")
	}
	return in, nil
}

// readFrame reads a frame that swap wrote. It allocates memory only for bytes that have arrived.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > uint64(limit) {
		return nil, tooMuch(n, limit)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, int64(n)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
