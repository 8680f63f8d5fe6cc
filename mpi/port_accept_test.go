package mpi

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A scripted listener accepts what a test sends on next.
type scripted struct {
	next   chan any // a net.Conn, or an error
	closed chan struct{}
}

func newScripted(next ...any) *scripted {
	l := &scripted{next: make(chan any, len(next)), closed: make(chan struct{})}
	for _, n := range next {
		l.next <- n
	}
	return l
}

func (l *scripted) Accept() (net.Conn, error) {
	select {
	case n := <-l.next:
		if err, ok := n.(error); ok {
			return nil, err
		}
		return n.(net.Conn), nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *scripted) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *scripted) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// acceptError returns an error in the form of a TCP listener's.
func acceptError(errno syscall.Errno) error {
	return &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", errno)}
}

// TestAcceptGoesOn: a temporary error, such as too many open files, does not end a port.
func TestAcceptGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer func() { assert.NoError(t, errors.Join(ours.Close(), theirs.Close())) }()
		var next []any
		for range 20 { // which take several seconds
			next = append(next, acceptError(syscall.EMFILE), acceptError(syscall.ECONNABORTED))
		}
		var ps ports
		name, err := ps.add(newScripted(append(next, ours)...))
		require.NoError(t, err)
		said := make(chan error, 1)
		go func() {
			_, token, _ := strings.Cut(strings.TrimPrefix(name, portScheme), "/")
			_, err := theirs.Write([]byte(portGreeting + token + "\n"))
			if err == nil {
				_, err = theirs.Read(make([]byte, len(portAnswer)))
			}
			if err == nil {
				_, err = theirs.Write([]byte(portConfirm))
			}
			said <- err
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		conn, err := ps.accept(ctx, name)
		require.NoError(t, err)
		assert.Same(t, ours, conn)
		require.NoError(t, <-said)
		require.NoError(t, ps.close(name))
	})
}

// TestAcceptFails: callers that wait in Accept, and later callers, get a permanent error. The port
// can still be closed.
func TestAcceptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ps ports
		l := newScripted()
		l.next = make(chan any)
		name, err := ps.add(l)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			synctest.Wait() // it waits in accept
			l.next <- acceptError(syscall.EBADF)
		}()
		for range 2 {
			_, err = ps.accept(ctx, name)
			assert.ErrorIs(t, err, ErrPort)
			assert.ErrorIs(t, err, syscall.EBADF)
		}
		<-l.closed // so that no peer waits for ever
		require.NoError(t, ps.close(name))
	})
}

// TestClosePortWhileItPauses: a port that has just failed to accept closes at once.
func TestClosePortWhileItPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ps ports
		name, err := ps.add(newScripted(acceptError(syscall.ENFILE)))
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, ps.close(name))
	})
}

// TestOpenPortAfterClose: a port that is opened while Finalize closes all of them is closed, too.
func TestOpenPortAfterClose(t *testing.T) {
	var ps ports
	ps.closeAll()
	l := newScripted()
	_, err := ps.add(l)
	assert.ErrorIs(t, err, ErrOther)
	select {
	case <-l.closed:
	default:
		assert.Fail(t, "the listener is left")
		ps.closeAll()
	}
}
