package methodtest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// requestSize is the length of a request to Serve: it contains the length of the
// message that will follow.
const requestSize = 8

// echoSizeMax bounds the length that Serve accepts from a client.
const echoSizeMax = 64 << 20

// An echo is one message to be returned.
type echo struct {
	to  bmi.Addr
	tag bmi.Tag
	buf []byte
	out bool // it is already being sent back
}

// Serve answers the suite's clients from e until ctx ends. An unexpected message
// of eight bytes gives the length (little-endian) of a message with the same tag
// that follows and is returned to its sender. A Fork hook runs Serve in another
// process.
func Serve(ctx context.Context, e *bmi.Endpoint) error {
	c, err := e.OpenContext()
	if err != nil {
		return fmt.Errorf("methodtest: serve: %w", err)
	}
	var requests [16]bmi.Unexpected
	var done [16]bmi.Completion
	for ctx.Err() == nil {
		n, err := e.TestUnexpected(requests[:], 0)
		if err != nil {
			return fmt.Errorf("methodtest: serve: %w", err)
		}
		for i := range requests[:n] {
			if err := receiveEcho(c, &requests[i]); err != nil {
				return fmt.Errorf("methodtest: serve: %w", err)
			}
			requests[i].Release()
		}
		if n, err = c.TestContext(done[:], time.Millisecond); err != nil {
			return fmt.Errorf("methodtest: serve: %w", err)
		}
		for _, d := range done[:n] {
			// A client that has ended is no reason to stop.
			if d.Err == nil && !d.User.(*echo).out {
				if err := sendEcho(c, d.User.(*echo)); err != nil {
					return fmt.Errorf("methodtest: serve: %w", err)
				}
			}
		}
	}
	return nil
}

func receiveEcho(c *bmi.Context, u *bmi.Unexpected) error {
	if len(u.Data) != requestSize {
		return nil // an introduction, or not a request
	}
	size := binary.LittleEndian.Uint64(u.Data)
	if size > echoSizeMax {
		return nil
	}
	e := &echo{to: u.From, tag: u.Tag, buf: make([]byte, size)}
	p, err := c.PostRecv(e.to, e.tag, e.buf, e)
	if err == nil && p.Done {
		return sendEcho(c, e)
	}
	return ignoreGone(err)
}

func sendEcho(c *bmi.Context, e *echo) error {
	e.out = true
	_, err := c.PostSend(e.to, e.tag, e.buf, e)
	return ignoreGone(err)
}

// ignoreGone drops the errors of posts to a client that has ended.
func ignoreGone(err error) error {
	if errors.Is(err, bmi.ErrPeerFailed) || errors.Is(err, bmi.ErrUnreachable) || errors.Is(err, bmi.ErrDropped) {
		return nil
	}
	return err
}
