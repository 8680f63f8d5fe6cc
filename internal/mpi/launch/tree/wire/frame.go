package wire

import (
	"encoding/binary"
	"fmt"
)

// A Frame is one message between two agents.
type Frame interface {
	kind() byte
	fields(c *codec)
}

// Kinds of frames. They never change their numbers.
const (
	kindHello byte = iota + 1
	kindStart
	kindRelease
	kindAnswer
	kindSignal
	kindInput
	kindWho
	kindOutputTaken
	kindUp
	kindOutput
	kindFence
	kindState
	kindEnded
	kindAsk
	kindAbort
	kindMissing
	kindSay
	kindLost
	kindFailed
	kindInputTaken
	kindStarted
)

// empty returns a frame of a kind without its fields.
func empty(kind byte) Frame {
	switch kind {
	case kindHello:
		return &Hello{}
	case kindStart:
		return &Start{}
	case kindRelease:
		return &Release{}
	case kindAnswer:
		return &Answer{}
	case kindSignal:
		return &Signal{}
	case kindInput:
		return &Input{}
	case kindWho:
		return &Who{}
	case kindOutputTaken:
		return &OutputTaken{}
	case kindUp:
		return &Up{}
	case kindOutput:
		return &Output{}
	case kindFence:
		return &Fence{}
	case kindState:
		return &State{}
	case kindEnded:
		return &Ended{}
	case kindAsk:
		return &Ask{}
	case kindAbort:
		return &Abort{}
	case kindMissing:
		return &Missing{}
	case kindSay:
		return &Say{}
	case kindLost:
		return &Lost{}
	case kindFailed:
		return &Failed{}
	case kindInputTaken:
		return &InputTaken{}
	case kindStarted:
		return &Started{}
	}
	return nil
}

// Append appends a frame.
func Append(dst []byte, f Frame) ([]byte, error) {
	c := &codec{buf: append(dst, 0, 0, 0, 0, f.kind())}
	f.fields(c)
	n := len(c.buf) - len(dst) - HeadBytes
	if c.err == nil && n > FrameBytesMax {
		c.fail("%d bytes of %T, %d can be sent", n, f, FrameBytesMax)
	}
	if c.err != nil {
		return dst, c.err
	}
	binary.BigEndian.PutUint32(c.buf[len(dst):], uint32(n))
	return append(c.buf, End), nil
}

// ParseHead returns the number of bytes between the head of a frame and its End.
func ParseHead(head [HeadBytes]byte) (n int, err error) {
	size := binary.BigEndian.Uint32(head[:])
	if size > FrameBytesMax || empty(head[HeadBytes-1]) == nil {
		return 0, fmt.Errorf("%w: %d bytes of kind %d", ErrMalformed, size, head[HeadBytes-1])
	}
	return int(size), nil
}

// Parse parses the bytes between the head and the End. The frame keeps them.
func Parse(kind byte, body []byte) (Frame, error) {
	f := empty(kind)
	if f == nil {
		return nil, fmt.Errorf("%w: kind %d", ErrMalformed, kind)
	}
	c := &codec{reading: true, buf: body}
	f.fields(c)
	if c.err == nil && len(c.buf) > 0 {
		c.fail("%d bytes too many in %T", len(c.buf), f)
	}
	if c.err != nil {
		return nil, c.err
	}
	return f, nil
}
