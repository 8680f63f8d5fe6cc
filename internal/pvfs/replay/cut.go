package replay

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A Session is a named captured session.
type Session struct {
	Name      string
	Exchanges []*Exchange
}

// Cuts are sessions in a file that is much smaller than the captures. It has only the exchanges. Lines of the captured files are
// stored by number, because each line has its own offset as text. The file is gzip of
//
//	count of sessions; each: name, count of exchanges; each: connection, port, tag,
//	request, count of messages to the server, these, count of messages from it, these
//
// All numbers are uvarints. A message is a count of parts. Each part is an even number, twice a length, and bytes; or an odd
// number, a count of lines, and the number of the first line.

// lineBytes is the length of a line of the captured files: "off=" and 11 hexadecimal digits.
const lineBytes = 16

// Limits of a file, so that a damaged one does not take much memory.
const (
	cutBytesMax = 64 << 20
	cutItemsMax = 1 << 20
)

var errCut = errors.New("replay: not a file of sessions")

func line(n uint64) []byte { return appendLine(nil, n) }

// appendLine is fmt.Appendf(b, "off=%011x\n", n*lineBytes), for numbers below 2^40.
func appendLine(b []byte, n uint64) []byte {
	const digits = "0123456789abcdef"
	b = append(b, "off=00000000000\n"...)
	for i, v := len(b)-2, n*lineBytes; v > 0 && b[i] != '='; i, v = i-1, v>>4 {
		b[i] = digits[v&15]
	}
	return b
}

// WriteCut writes sessions.
func WriteCut(w io.Writer, sessions []Session) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	b := binary.AppendUvarint(nil, uint64(len(sessions)))
	for _, s := range sessions {
		b = appendBytes(b, []byte(s.Name))
		b = binary.AppendUvarint(b, uint64(len(s.Exchanges)))
		for _, x := range s.Exchanges {
			for _, n := range []uint64{uint64(x.Conn), uint64(x.Port), uint64(x.Tag)} {
				b = binary.AppendUvarint(b, n)
			}
			b = appendMessage(b, x.Request)
			b = appendMessages(appendMessages(b, x.Sent), x.Received)
		}
	}
	if _, err := z.Write(b); err != nil {
		return err
	}
	return z.Close()
}

func appendBytes(b, data []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

func appendMessages(b []byte, messages [][]byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(messages)))
	for _, m := range messages {
		b = appendMessage(b, m)
	}
	return b
}

// appendMessage splits a message into runs of lines and the bytes between them.
func appendMessage(b, m []byte) []byte {
	var parts []byte
	count, plain := uint64(0), 0
	flush := func(end int) {
		if end > plain {
			parts = binary.AppendUvarint(parts, uint64(end-plain)<<1)
			parts = append(parts, m[plain:end]...)
			count++
		}
	}
	for at := 0; at < len(m); {
		n := bytes.Index(m[at:], []byte("off="))
		if n < 0 {
			break
		}
		at += n
		first, lines := linesAt(m[at:])
		if lines < 2 {
			at++
			continue
		}
		flush(at)
		parts = binary.AppendUvarint(binary.AppendUvarint(parts, lines<<1|1), first)
		count++
		at += int(lines) * lineBytes
		plain = at
	}
	flush(len(m))
	return append(binary.AppendUvarint(b, count), parts...)
}

// linesAt returns how many lines are at the start of b, and the number of the first.
func linesAt(b []byte) (first, lines uint64) {
	var offset uint64
	if _, err := fmt.Sscanf(string(b[:min(len(b), lineBytes)]), "off=%011x\n", &offset); err != nil || offset%lineBytes != 0 {
		return 0, 0
	}
	first = offset / lineBytes
	for len(b) >= lineBytes && bytes.Equal(b[:lineBytes], line(first+lines)) {
		lines++
		b = b[lineBytes:]
	}
	return first, lines
}

// ReadCut reads sessions.
func ReadCut(r io.Reader) ([]Session, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(io.LimitReader(z, cutBytesMax))
	if err != nil {
		return nil, err
	}
	c := cutReader{b: all, left: cutBytesMax}
	var sessions []Session
	for range c.count() {
		s := Session{Name: string(c.bytes(c.count()))}
		for range c.count() {
			x := &Exchange{Conn: int(c.count()), Port: uint16(c.number()), Tag: uint32(c.number())}
			x.Request, x.Sent, x.Received = c.message(), c.messages(), c.messages()
			s.Exchanges = append(s.Exchanges, x)
			if c.err != nil {
				return nil, c.err
			}
		}
		sessions = append(sessions, s)
	}
	if c.err == nil && len(c.b) > 0 {
		c.err = errCut
	}
	return sessions, c.err
}

// cutReader parses such a file. After the first error it returns zeros.
type cutReader struct {
	b    []byte
	left uint64 // limit for the bytes of further messages
	err  error
}

func (c *cutReader) number() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 || c.err != nil {
		c.b, c.err = nil, errCut
		return 0
	}
	c.b = c.b[n:]
	return v
}

// count is the number of items in a list.
func (c *cutReader) count() uint64 {
	n := c.number()
	if n > cutItemsMax {
		c.b, c.err = nil, errCut
		return 0
	}
	return n
}

func (c *cutReader) bytes(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.b, c.err = nil, errCut
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cutReader) messages() (all [][]byte) {
	for range c.count() {
		all = append(all, c.message())
		if c.err != nil {
			return nil
		}
	}
	return all
}

func (c *cutReader) message() (m []byte) {
	for range c.count() {
		head := c.number()
		n := head >> 1
		size := n
		if head&1 != 0 {
			size = min(n, cutBytesMax) * lineBytes
		}
		if size > c.left {
			c.b, c.err = nil, errCut
		}
		if c.err != nil {
			return nil
		}
		c.left -= size
		if head&1 == 0 {
			m = append(m, c.bytes(n)...)
			continue
		}
		for first, i := c.number(), uint64(0); i < n; i++ {
			m = appendLine(m, (first+i)%(1<<40))
		}
	}
	return m
}
