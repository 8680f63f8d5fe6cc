package mpi

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"time"
)

// Pauses of a port after a temporary error of its listener: the first, and the longest after
// several errors in a row.
const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// passing lists errors of accept(2) that do not mean that the listener is broken: the connection or
// its network is gone, or resources are short for the moment. accept(2) recommends treating network
// errors like EAGAIN.
var passing = []error{
	syscall.EAGAIN, syscall.EINTR, syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EPERM,
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
	syscall.ENETDOWN, syscall.EPROTO, syscall.ENOPROTOOPT, syscall.EHOSTDOWN, syscall.ENONET,
	syscall.EHOSTUNREACH, syscall.EOPNOTSUPP, syscall.ENETUNREACH, syscall.ETIMEDOUT,
}

// take waits for the next connection. It fails if the port is closed, or if its listener cannot
// accept any more.
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
