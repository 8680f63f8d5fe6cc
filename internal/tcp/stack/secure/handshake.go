package secure

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
)

// handshakeBytesMax bounds the bytes that wait for a handshake; the rest stays in
// the stream below. Certificates of some kilobytes are usual.
const handshakeBytesMax = 32 << 10

// A handshake is the goroutine in which crypto/tls performs the handshake, and the buffers between
// it and the owner. The owner puts in the bytes that the stream below received, and takes out those
// to be sent. The goroutine is stopped when the stream closes.
type handshake struct {
	mu   sync.Mutex
	cond sync.Cond
	// note tells the owner that out, waiting or ended changed. It is called
	// with mu held, and never after ended was set and mu released.
	note func()

	in      []byte // received and not yet read
	inErr   error  // why nothing more follows in
	out     []byte // to be sent
	waiting bool   // the goroutine waits for in
	stopped bool   // the owner gave up
	ended   bool   // the goroutine has finished
	err     error  // how it ended
}

func newHandshake(note func()) *handshake {
	h := &handshake{note: note}
	h.cond.L = &h.mu
	return h
}

// run is the goroutine.
func (h *handshake) run(conn *tls.Conn) {
	err := conn.Handshake()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.err = true, err
	h.note()
	h.cond.Broadcast()
}

// read gives crypto/tls the bytes that it reads.
func (h *handshake) read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.in) == 0 && h.inErr == nil && !h.stopped {
		h.waiting = true
		h.note()
		h.cond.Broadcast()
		h.cond.Wait()
	}
	switch {
	case h.stopped:
		return 0, net.ErrClosed
	case len(h.in) == 0:
		return 0, h.inErr
	}
	n := copy(b, h.in)
	h.in = h.in[n:]
	return n, nil
}

// write receives the bytes that crypto/tls writes. The other side cannot make a handshake send more
// than a few kilobytes, so there is no limit here.
func (h *handshake) write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return 0, net.ErrClosed
	}
	h.out = append(h.out, b...)
	return len(b), nil
}

// room is how many bytes feed can take now.
func (h *handshake) room() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return 0
	}
	return max(0, handshakeBytesMax-len(h.in))
}

// feed hands over received bytes and, if there is one, the reason why nothing
// follows them.
func (h *handshake) feed(b []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.in = append(h.in, b...)
	if err != nil {
		h.inErr = err
	}
	if len(h.in) > 0 || h.inErr != nil {
		h.waiting = false
		h.cond.Broadcast()
	}
}

// settle waits until the goroutine can do nothing more without the owner.
func (h *handshake) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.ended && !h.waiting {
		h.cond.Wait()
	}
}

// take returns the bytes to be sent, and whether the handshake is over.
func (h *handshake) take() (out []byte, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out, h.out = h.out, nil
	return out, h.ended
}

// stop makes the goroutine end soon.
func (h *handshake) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.cond.Broadcast()
}

// A transportError says why the stream below broke: TLS itself found nothing
// wrong.
type transportError struct{ err error }

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

var errTruncated = &transportError{io.ErrUnexpectedEOF}
