package mpi

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"time"
)

// How long a port waits after an error of its listener that passes, and at most after several
// in a row.
const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// passing are errors of accept(2) that say nothing of the listener: the connection is gone or
// its network is, or there is no room for it now. accept(2) wants those of the network to be
// treated like EAGAIN.
var passing = []error{
	syscall.EAGAIN, syscall.EINTR, syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EPERM,
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
	syscall.ENETDOWN, syscall.EPROTO, syscall.ENOPROTOOPT, syscall.EHOSTDOWN, syscall.ENONET,
	syscall.EHOSTUNREACH, syscall.EOPNOTSUPP, syscall.ENETUNREACH, syscall.ETIMEDOUT,
}

// take waits for the next connection. It fails if the port is closed, or its listener is of no
// use any more.
func (o *port) take() (net.Conn, error) {
	for pause := acceptPauseMin; ; pause = min(2*pause, acceptPauseMax) {
		conn, err := o.ln.Accept()
		if err == nil {
			return conn, nil
		}
		if !slices.ContainsFunc(passing, func(p error) bool { return errors.Is(err, p) }) {
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-o.life.Done():
			return nil, err
		}
	}
}
