package wire

import "encoding/binary"

// A Reader finds headers in a stream of bytes. Between headers, the owner takes
// the bytes of the message itself, from wherever they arrive, and tells the
// Reader how many:
//
//	HeaderLen bytes   Header, once or more often
//	Header.Size bytes Body, once or more often
//
// The zero Reader expects the first header.
type Reader struct {
	part [HeaderLen]byte // the beginning of a header
	have int             // how much of it; 0 ≤ have < HeaderLen
	left int             // bytes of the message that have not arrived yet
}

// Left is how many bytes of the current message have not arrived yet. While it is
// 0, the next byte belongs to a header.
func (r *Reader) Left() int { return r.left }

// Partial reports whether a header has begun and is not complete.
func (r *Reader) Partial() bool { return r.have > 0 }

// Header takes bytes of a header from p and returns how many. If that completed
// the header, ok is true, and Left is the size of its message. Header must not be
// called while Left is more than 0. After an error the stream is unusable, and
// the Reader must not be called again.
func (r *Reader) Header(p []byte) (h Header, n int, ok bool, err error) {
	if r.left > 0 {
		panic("wire: Header within a message")
	}
	whole := p
	if n = HeaderLen; r.have > 0 || len(p) < HeaderLen {
		n = copy(r.part[r.have:], p)
		if r.have += n; r.have < HeaderLen {
			return Header{}, n, false, r.begins()
		}
		r.have = 0
		whole = r.part[:]
	}
	if h, err = parse(whole[:HeaderLen]); err != nil {
		return Header{}, n, false, err
	}
	r.left = h.Size
	return h, n, true, nil
}

// begins checks the magic number as soon as it is complete. So a stranger that
// sends a few bytes and waits is rejected at once.
func (r *Reader) begins() error {
	want := [4]byte{Magic & 0xff, Magic >> 8}
	var is [4]byte
	n := copy(is[:], r.part[:r.have])
	for i := range n {
		if is[i] != want[i] {
			return badMagic(binary.LittleEndian.Uint32(is[:]))
		}
	}
	return nil
}

// Body records that n more bytes of the message have arrived, 0 ≤ n ≤ Left.
func (r *Reader) Body(n int) {
	if n < 0 || n > r.left {
		panic("wire: more bytes than the message has")
	}
	r.left -= n
}
