package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

const (
	// testWait is how long one Test call waits before it checks whether the
	// transfer is over.
	testWait = 100 * time.Millisecond
	// leaveTimeMax bounds how long each side takes for its last messages.
	leaveTimeMax = 2 * time.Second
	// stuckTimeMax is how long a failed transfer waits at its end for a running
	// read or write.
	stuckTimeMax = 100 * time.Millisecond
	// retryPostEvery is the pause before a post that met back-pressure is tried
	// again.
	retryPostEvery = time.Millisecond
)

var (
	// ErrOtherSide: the other side ended the transfer, with a reason.
	ErrOtherSide = errors.New("the other side gave up")
	// ErrChecksum: the received bytes differ from the sent ones.
	ErrChecksum = errors.New("the checksum differs: what arrived is not what was sent")
)

// A Summary describes a finished transfer.
type Summary struct {
	Bytes  int64
	SHA256 [32]byte
	// Peer is the address of the other side.
	Peer string
}

// A block is one message buffer: header and payload. The method owns it from its
// post until it completes, the input or output otherwise.
type block struct {
	buf []byte
	// size is the length of the message in it.
	size int
	// slot counts the receives: how many were posted before this one.
	slot uint64
}

// A window is the common part of both sides of a transfer: contexts and blocks.
// Three goroutines use it. The caller's goroutine makes the decisions; test takes
// completions for it; a third one reads the input or writes the output and may
// hang there for ever. The third one uses the bytes of blocks only within touch,
// except during the system call itself, so that nothing uses them after stop.
type window struct {
	ep      *bmi.Endpoint
	c       *bmi.Context // of the blocks and the verdict, for test
	talk    *bmi.Context // of the blocking calls
	peer    bmi.Addr
	session uint64
	blocks  []*block

	// completions are those of c. The channel never blocks test, because it has
	// room for everything that a transfer posts at once. It is closed when test
	// returns.
	completions chan bmi.Completion
	testErr     error // set before completions is closed

	mu      sync.Mutex
	stopped bool
	done    chan struct{} // closed by stop
}

func openWindow(ep *bmi.Endpoint, peer bmi.Addr, session uint64) (*window, error) {
	c, err := ep.OpenContext()
	if err != nil {
		return nil, err
	}
	talk, err := ep.OpenContext()
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	w := &window{
		ep: ep, c: c, talk: talk, peer: peer, session: session,
		completions: make(chan bmi.Completion, 2*BlocksMax),
		done:        make(chan struct{}),
	}
	go w.test()
	return w, nil
}

// test forwards completions until the window is stopped.
func (w *window) test() {
	defer close(w.completions)
	out := make([]bmi.Completion, BlocksMax)
	for {
		n, err := w.c.TestContext(out, testWait)
		for _, done := range out[:n] {
			w.completions <- done
		}
		if err != nil {
			w.testErr = err
			return
		}
		select {
		case <-w.done:
			return
		default:
		}
	}
}

// alloc makes the blocks, n of size payload bytes.
func (w *window) alloc(n, size int) error {
	for range n {
		buf, err := w.ep.Alloc(w.peer, headerBytes+size)
		if err != nil {
			return fmt.Errorf("stream: allocate %d blocks of %d bytes: %w", n, size, err)
		}
		w.blocks = append(w.blocks, &block{buf: buf})
	}
	return nil
}

// touch runs f, which may touch blocks, unless the window is stopped.
func (w *window) touch(f func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return bmi.ErrClosed
	}
	return f()
}

// close ends all pending operations and frees the blocks. If the third goroutine
// (which closes ended) hangs in a system call with a block, the blocks are left
// to the endpoint's Close.
func (w *window) close(ended <-chan struct{}) {
	w.mu.Lock()
	w.stopped = true
	close(w.done)
	w.mu.Unlock()
	_, _ = w.c.Close(), w.talk.Close()
	for range w.completions { // until test has returned
	}
	select {
	case <-ended:
		for _, b := range w.blocks {
			_ = w.ep.Free(w.peer, b.buf)
		}
	case <-time.After(stuckTimeMax):
	}
}

// post repeats a post while there is back-pressure.
func (w *window) post(what string, try func() (bmi.Posted, error)) (bmi.Posted, error) {
	for {
		var p bmi.Posted
		err := w.touch(func() (err error) {
			p, err = try()
			return err
		})
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, bmi.ErrAgain) {
			return p, fmt.Errorf("stream: %s: %w", what, err)
		}
		select {
		case <-w.done:
		case <-time.After(retryPostEvery):
		}
	}
}

// say sends a small message, within the time for last messages.
func (w *window) say(ctx context.Context, tag bmi.Tag, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeMax)
	defer cancel()
	return w.talk.Send(ctx, w.peer, tag, data)
}

// shorten cuts a text for the other side to the length that the format allows.
func shorten(err error) string {
	text := err.Error()
	return text[:min(len(text), textBytesMax)]
}
