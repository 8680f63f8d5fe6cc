package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed marks bytes that are no frame.
var ErrMalformed = errors.New("malformed frame of an agent")

// A codec writes the fields of a frame, or reads them: each frame names its fields once for both.
type codec struct {
	reading bool
	buf     []byte // written so far, or still to be read
	err     error  // the first
}

func (c *codec) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
}

// number is a number from 0 to most.
func (c *codec) number(v *int, most int) {
	switch {
	case c.err != nil:
	case !c.reading && (*v < 0 || *v > most):
		c.fail("the number %d cannot be sent, only 0 to %d", *v, most)
	case !c.reading:
		c.buf = binary.AppendUvarint(c.buf, uint64(*v))
	default:
		n, size := binary.Uvarint(c.buf)
		if size <= 0 || n > uint64(most) {
			c.fail("no number from 0 to %d", most)
			return
		}
		*v, c.buf = int(n), c.buf[size:]
	}
}

func (c *codec) flag(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	c.number(&n, 1)
	*v = n == 1
}

// bytes are at most most bytes. When they are read, they are those of the frame.
func (c *codec) bytes(v *[]byte, most int) {
	n := len(*v)
	c.number(&n, most)
	switch {
	case c.err != nil:
	case !c.reading:
		c.buf = append(c.buf, *v...)
	case n > len(c.buf):
		c.fail("%d bytes of %d are missing", n-len(c.buf), n)
	default:
		*v, c.buf = c.buf[:n:n], c.buf[n:]
	}
}

func (c *codec) text(v *string, most int) {
	b := []byte(*v)
	c.bytes(&b, most)
	if c.reading && c.err == nil {
		*v = string(b)
	}
}

// list is a list of at most most items. Each takes a byte or more, so that a number of items costs
// no more memory than the frame has bytes for.
func list[T any](c *codec, v *[]T, most int, item func(*T)) {
	n := len(*v)
	c.number(&n, most)
	if c.err != nil {
		return
	}
	if c.reading {
		if n > len(c.buf) {
			c.fail("a list of %d items in %d bytes", n, len(c.buf))
			return
		}
		*v = make([]T, n)
	}
	for i := 0; i < n && c.err == nil; i++ {
		item(&(*v)[i])
	}
}

func (c *codec) texts(v *[]string, most int) {
	list(c, v, ListMax, func(t *string) { c.text(t, most) })
}

func (c *codec) pairs(v *[]Pair) {
	list(c, v, PairsMax, func(p *Pair) {
		c.text(&p.Key, KeyBytesMax)
		c.text(&p.Value, ValueBytesMax)
	})
}

func (c *codec) programs(v *[]Program) {
	list(c, v, ListMax, func(p *Program) {
		c.number(&p.N, RanksMax)
		c.text(&p.Name, TextBytesMax)
		c.text(&p.Path, TextBytesMax)
		c.texts(&p.Args, ArgBytesMax)
		c.texts(&p.Env, ArgBytesMax)
		c.text(&p.Dir, TextBytesMax)
	})
}

// fence is the fields of Fence and Release.
func (c *codec) fence(group *int, pairs *[]Pair, last *bool) {
	c.number(group, GroupsMax)
	c.pairs(pairs)
	c.flag(last)
}
