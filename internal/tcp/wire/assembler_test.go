package wire

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// A message is a header with what came behind it.
type message struct {
	header Header
	body   []byte
}

// An assembler is the smallest owner of a Reader: it assembles messages.
type assembler struct {
	r     Reader
	whole []message
	part  message // the message that has begun; valid while r.Left() > 0
	err   error
}

// feed gives the assembler the next bytes of the stream.
func (a *assembler) feed(p []byte) {
	for len(p) > 0 && a.err == nil {
		n := min(len(p), a.r.Left())
		if n == 0 {
			n = a.header(p)
		} else {
			a.part.body = append(a.part.body, p[:n]...)
			a.r.Body(n)
			a.finish()
		}
		p = p[n:]
	}
}

func (a *assembler) header(p []byte) int {
	h, n, ok, err := a.r.Header(p)
	switch {
	case n < 1 || n > len(p) || n > HeaderLen:
		panic(fmt.Sprintf("Header took %d of %d bytes", n, len(p)))
	case a.r.Left() < 0 || !ok && a.r.Left() != 0 || ok && a.r.Left() != h.Size:
		panic(fmt.Sprintf("%v: %d bytes left", h, a.r.Left()))
	case ok && (err != nil || a.r.Partial()):
		panic(fmt.Sprintf("%v is whole, with error %v, partial %v", h, err, a.r.Partial()))
	case !ok && err == nil && !a.r.Partial():
		panic("neither a header nor a part of one")
	}
	if a.err = err; ok {
		a.part = message{header: h, body: a.part.body[:0]}
		a.finish()
	}
	return n
}

// finish takes over the message if all of it has come.
func (a *assembler) finish() {
	if a.r.Left() == 0 {
		a.whole = append(a.whole, message{a.part.header, bytes.Clone(a.part.body)})
	}
}

// feedAll feeds a stream in pieces of one size.
func (a *assembler) feedAll(stream []byte, size int) {
	for len(stream) > 0 {
		n := min(size, len(stream))
		a.feed(stream[:n])
		stream = stream[n:]
	}
}

// ends describes the state of the assembler, apart from whole messages.
func (a *assembler) ends() string {
	if a.err != nil {
		return "refused: " + kind(a.err)
	}
	return fmt.Sprintf("left=%d partial=%v", a.r.Left(), a.r.Partial())
}

func kind(err error) string {
	for name, k := range map[string]error{"magic": ErrMagic, "mode": ErrMode, "size": ErrSize} {
		if errors.Is(err, k) {
			return name
		}
	}
	return err.Error()
}

// slowDecode is the oracle: it decodes a whole stream following the description of
// the format, and shares no code with the package.
func slowDecode(stream []byte) (whole []message, ends string) {
	number := func(off, bytes int) (v uint64) {
		for i := bytes - 1; i >= 0; i-- {
			v = v*256 + uint64(stream[off+i])
		}
		return v
	}
	for off := 0; ; {
		for i, want := range []byte{0xbf, 0xca, 0, 0} {
			if off+i < len(stream) && stream[off+i] != want {
				return whole, "refused: magic"
			}
		}
		if have := len(stream) - off; have < 24 {
			return whole, fmt.Sprintf("left=0 partial=%v", have > 0)
		}
		mode, tag, size := number(off+4, 4), number(off+8, 4), int64(number(off+16, 8))
		limit, known := map[uint64]int64{2: 16384, 4: 16777216, 8: 16777216}[mode]
		switch {
		case !known:
			return whole, "refused: mode"
		case size < 0 || size > limit:
			return whole, "refused: size"
		}
		off += 24
		if have := int64(len(stream) - off); have < size {
			return whole, fmt.Sprintf("left=%d partial=false", size-have)
		}
		whole = append(whole, message{Header{Mode(mode), uint32(tag), int(size)}, stream[off : off+int(size)]})
		off += int(size)
	}
}

func sameMessages(a, b []message) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].header != b[i].header || !bytes.Equal(a[i].body, b[i].body) {
			return false
		}
	}
	return true
}

// refill makes a stream from an outline (outlines.golden), which omits the messages
// themselves. They are filled with headers, so that a Reader that looks for one in
// the wrong place finds one.
func refill(outline golden.Vector) (stream []byte) {
	decoy := Expected(7, 1).Append(nil)
	for heads := outline.Bytes; len(heads) > 0; heads = heads[HeaderLen:] {
		stream = append(stream, heads[:HeaderLen]...)
		size := int(heads[16]) | int(heads[17])<<8 | int(heads[18])<<16 | int(heads[19])<<24
		body := bytes.Repeat(decoy, size/HeaderLen+1)
		stream = append(stream, body[:size]...)
	}
	return stream
}
