package sim

import (
	"bytes"
	"errors"
	"fmt"
)

// ExactlyOnce checks that everything sent is delivered once, and nothing else.
type ExactlyOnce[K comparable] struct {
	sent      map[K]bool
	delivered map[K]bool
}

// Sent records a message that must be delivered. Keys must be unique.
func (c *ExactlyOnce[K]) Sent(key K) {
	if c.sent == nil {
		c.sent, c.delivered = make(map[K]bool), make(map[K]bool)
	}
	c.sent[key] = true
}

// Delivered records an arrival; it fails if the message was not sent, or arrived
// before.
func (c *ExactlyOnce[K]) Delivered(key K) error {
	switch {
	case !c.sent[key]:
		return fmt.Errorf("sim: %v was delivered but never sent", key)
	case c.delivered[key]:
		return fmt.Errorf("sim: %v was delivered twice", key)
	}
	c.delivered[key] = true
	return nil
}

// Missing is the number of messages not delivered yet.
func (c *ExactlyOnce[K]) Missing() int { return len(c.sent) - len(c.delivered) }

// Check fails if anything is missing.
func (c *ExactlyOnce[K]) Check() error {
	if n := c.Missing(); n > 0 {
		return fmt.Errorf("sim: %d of %d messages were never delivered", n, len(c.sent))
	}
	return nil
}

// InOrder checks that messages of one stream (a peer and a tag, say) arrive in
// the order in which they were sent. ExactlyOnce checks for gaps.
type InOrder[K comparable] struct {
	next map[K]uint64 // the lowest number that may still arrive
}

// Delivered records that message number seq of a stream arrived.
func (c *InOrder[K]) Delivered(stream K, seq uint64) error {
	if c.next == nil {
		c.next = make(map[K]uint64)
	}
	if seq < c.next[stream] {
		return fmt.Errorf("sim: stream %v: message %d arrived after message %d", stream, seq, c.next[stream]-1)
	}
	c.next[stream] = seq + 1
	return nil
}

// Buffers checks that buffers are not changed while they must not be.
type Buffers struct {
	held []heldBuffer
}

type heldBuffer struct {
	name string
	mem  []byte
	want []byte
}

// Hold records the content of a buffer that must not change until Release: one
// whose operation completed, or one that is lent for reading only.
func (c *Buffers) Hold(name string, mem []byte) {
	c.held = append(c.held, heldBuffer{name: name, mem: mem, want: bytes.Clone(mem)})
}

// Release checks a held buffer and forgets it.
func (c *Buffers) Release(name string) error {
	for i, h := range c.held {
		if h.name == name {
			c.held = append(c.held[:i], c.held[i+1:]...)
			return h.check()
		}
	}
	return fmt.Errorf("sim: buffer %s is not held", name)
}

// Check fails for every held buffer that changed.
func (c *Buffers) Check() error {
	var all []error
	for _, h := range c.held {
		all = append(all, h.check())
	}
	return errors.Join(all...)
}

func (h heldBuffer) check() error {
	for i := range h.mem {
		if h.mem[i] != h.want[i] {
			return fmt.Errorf("sim: buffer %s was touched at byte %d while nobody was allowed to", h.name, i)
		}
	}
	return nil
}

// Credits checks that credits are neither lost nor created: the credits of the
// sender, those under way and those of the receiver always add up to Total.
type Credits struct {
	Total int
}

// Check fails if the parts do not add up, or one is negative.
func (c Credits) Check(parts ...int) error {
	sum := 0
	for _, p := range parts {
		if p < 0 {
			return fmt.Errorf("sim: a negative number of credits in %v", parts)
		}
		sum += p
	}
	if sum != c.Total {
		return fmt.Errorf("sim: credits are not conserved: %v add up to %d, want %d", parts, sum, c.Total)
	}
	return nil
}
