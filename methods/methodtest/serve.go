package methodtest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// requestSize is the length of what a client of Serve asks with: the length of
// the message that it will send.
const requestSize = 8

// echoSizeMax bounds what Serve takes from whoever asks.
const echoSizeMax = 64 << 20

// An echo is one message on its way back.
type echo struct {
	to  bmi.Addr
	tag bmi.Tag
	buf []byte
	out bool // it is on its way back already
}

// Serve answers the suite's clients from e until ctx ends: an unexpected message
// of eight bytes says how long (little-endian) a message with the same tag
// follows, which goes back to where it came from. It is what a Fork hook runs in
// another process.
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
			// A client that is gone is no reason to end.
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
		return nil // an introduction, or none of ours
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

// ignoreGone drops the errors of posts to a client that has gone.
func ignoreGone(err error) error {
	if errors.Is(err, bmi.ErrPeerFailed) || errors.Is(err, bmi.ErrUnreachable) || errors.Is(err, bmi.ErrDropped) {
		return nil
	}
	return err
}
