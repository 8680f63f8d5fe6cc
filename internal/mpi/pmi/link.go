package pmi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A link carries one request and its answer at a time.
type link struct {
	conn net.Conn
	r    *bufio.Reader
	turn chan struct{} // holds one token; the goroutine that has it may send a request
	// broken is why no request can be sent any more: an earlier call did not wait for its answer,
	// which would be taken for the answer of the next. Guarded by turn.
	broken error
}

func newLink(conn net.Conn) *link {
	l := &link{conn: conn, r: bufio.NewReader(conn), turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// longAgo is a deadline that ends a wait at once.
var longAgo = time.Unix(1, 0)

// ask writes a request and reads its answer with read.
func (l *link) ask(ctx context.Context, question []byte, read func() error) error {
	select {
	case <-l.turn:
	case <-ctx.Done():
		return errclass.Wrap(errclass.Other, context.Cause(ctx), "the launcher was not asked")
	}
	defer func() { l.turn <- struct{}{} }()
	if l.broken != nil {
		return l.broken
	}
	if ctx.Err() != nil {
		return errclass.Wrap(errclass.Other, context.Cause(ctx), "the launcher was not asked")
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = l.conn.SetDeadline(longAgo)
		close(interrupted)
	})
	err := l.exchange(question, read)
	if !stop() {
		<-interrupted
		_ = l.conn.SetDeadline(time.Time{})
	}
	if err == nil {
		return nil
	}
	switch {
	case ctx.Err() != nil:
		l.broken = errclass.Wrap(errclass.Other, context.Cause(ctx), "the launcher was not waited for, and cannot be asked again")
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), isReset(err):
		l.broken = errclass.Wrap(errclass.Other, err, "the launcher is gone, or has closed its connection to this process")
	default:
		l.broken = errclass.Wrap(errclass.Other, err, "the launcher does not speak PMI as it should")
	}
	return l.broken
}

func (l *link) exchange(question []byte, read func() error) error {
	if _, err := l.conn.Write(question); err != nil {
		return err
	}
	return read()
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

// readLine reads one line of PMI-1.
func (l *link) readLine() (wire.Command, error) {
	line, err := wire.ReadLine(l.r, nil)
	if err != nil {
		return wire.Command{}, err
	}
	return wire.ParseLine(line)
}
