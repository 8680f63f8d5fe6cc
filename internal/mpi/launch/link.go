package launch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
)

// An arrival is something that the owner of a branch must handle.
type arrival struct {
	from  int        // a neighbour of the tree's node
	frame wire.Frame // of that neighbour; nil:
	more  func()     // to be called by the owner; nil:
	why   string     // how the link has ended
}

// Limits of a link, in bytes.
const (
	// junkBytesMax is how much a remote shell may print before the agent begins.
	junkBytesMax = 256 << 10
	// queueBytesMax limits what waits to be written. The protocol's windows keep it far below that.
	queueBytesMax = 1 << 30
)

// A link is a connection to another agent. A separate goroutine writes the frames, so a neighbour
// that does not read delays no other one.
type link struct {
	w io.WriteCloser

	mu     sync.Mutex
	ready  *sync.Cond
	queue  []byte
	busy   bool // the writer writes
	closed bool
	empty  []chan struct{} // closed when all has been written
	ended  chan struct{}   // the writer has ended
}

func newLink(w io.WriteCloser) *link {
	l := &link{w: w, ended: make(chan struct{})}
	l.ready = sync.NewCond(&l.mu)
	go l.write()
	return l
}

func (l *link) write() {
	defer close(l.ended)
	defer l.w.Close()
	for {
		l.mu.Lock()
		l.busy = false
		for len(l.queue) == 0 && !l.closed {
			for _, c := range l.empty {
				close(c)
			}
			l.empty = nil
			l.ready.Wait()
		}
		out := l.queue
		l.queue, l.busy = nil, true
		l.mu.Unlock()
		if len(out) == 0 {
			return
		}
		if _, err := l.w.Write(out); err != nil {
			l.close() // the reader learns of the end, too
			return
		}
	}
}

// send puts a frame into the queue.
func (l *link) send(f wire.Frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return io.ErrClosedPipe
	}
	var err error
	if l.queue, err = wire.Append(l.queue, f); err != nil {
		return err
	}
	if len(l.queue) > queueBytesMax {
		return fmt.Errorf("%d bytes wait to be sent", len(l.queue))
	}
	l.ready.Signal()
	return nil
}

// flush waits until all frames have been written, but no longer than a time.
func (l *link) flush(most time.Duration) {
	l.mu.Lock()
	done := make(chan struct{})
	if len(l.queue) == 0 && !l.busy {
		close(done)
	} else {
		l.empty = append(l.empty, done)
	}
	l.mu.Unlock()
	select {
	case <-done:
	case <-l.ended:
	case <-time.After(most):
	}
}

// close ends the link when all frames have been written.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.ready.Signal()
}

// readFrame reads one frame.
func readFrame(r *bufio.Reader) (wire.Frame, error) {
	var head [wire.HeadBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n, err := wire.ParseHead(head)
	if err != nil {
		return nil, err
	}
	body, err := readBytes(r, n+1)
	switch {
	case err != nil:
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	case body[n] != wire.End:
		return nil, fmt.Errorf("%w: a frame of %d bytes does not end after them", wire.ErrMalformed, n)
	}
	return wire.Parse(head[wire.HeadBytes-1], body[:n])
}

// readBytes reads n bytes. Memory for many is taken as they come.
func readBytes(r io.Reader, n int) ([]byte, error) {
	const atOnce = 64 << 10
	if n <= atOnce {
		body := make([]byte, n)
		_, err := io.ReadFull(r, body)
		return body, err
	}
	var body bytes.Buffer
	if got, err := io.CopyN(&body, r, int64(n)); err != nil {
		return nil, fmt.Errorf("%d bytes of %d: %w", got, n, err)
	}
	return body.Bytes(), nil
}

// readMagic reads to the beginning of an agent's frames, and returns what a shell printed before.
func readMagic(r *bufio.Reader) (junk []byte, err error) {
	for len(junk) < junkBytesMax {
		b, err := r.ReadByte()
		if err != nil {
			return junk, err
		}
		junk = append(junk, b)
		if bytes.HasSuffix(junk, []byte(wire.Magic)) {
			return junk[:len(junk)-len(wire.Magic)], nil
		}
	}
	return junk, fmt.Errorf("%d bytes of something else came before an agent", junkBytesMax)
}

// how describes the end of a link.
func how(err error) string {
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrClosed):
		return "its connection has ended"
	}
	return err.Error()
}
