package launch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// lineBytesMax is the longest line that is passed on whole; a longer one is passed on in
	// pieces.
	lineBytesMax = 64 << 10
	// lastBytesMax limits the output that is read after a process has ended: all that a pipe can
	// hold. More can only come from a descendant that could not be killed.
	lastBytesMax = 1 << 20
)

// An output passes on the output of several processes, in whole lines.
type output struct {
	mu sync.Mutex
	to io.Writer
	// marks puts the label of a process before each of its lines.
	marks atomic.Bool
}

func newOutput(to io.Writer, marks bool) *output {
	o := &output{to: to}
	o.marks.Store(marks)
	return o
}

// from reads f to its end. When the read deadline of f passes, the process has ended; then it reads
// only what is there, so that it does not wait for a descendant that keeps writing.
func (o *output) from(f *os.File, label string) {
	buf := make([]byte, lineBytesMax)
	n, left, patience := 0, -1, 20*lastWords
	for left != 0 {
		began := time.Now()
		got, err := f.Read(buf[n:])
		n += got
		if left > 0 {
			left = max(left-got, 0)
			if patience -= time.Since(began); patience <= 0 {
				left = 0
			}
		}
		n = o.lines(buf[:n], label)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && left < 0:
			left = lastBytesMax
		case err != nil:
			left = 0
		}
		if left > 0 {
			_ = f.SetReadDeadline(time.Now().Add(lastWords))
		}
	}
	o.write(buf[:n], label)
}

// lines passes on the whole lines of buf, moves the rest to its start and returns the length of the
// rest, which is less than cap(buf).
func (o *output) lines(buf []byte, label string) int {
	end := bytes.LastIndexByte(buf, '\n') + 1
	if end == 0 && len(buf) == cap(buf) {
		end = len(buf)
	}
	o.write(buf[:end], label)
	return copy(buf, buf[end:])
}

// write passes on lines. The last may have no end; with a label it gets one, so that the next label
// is at the start of a line.
func (o *output) write(lines []byte, label string) {
	if len(lines) == 0 {
		return
	}
	out := lines
	if o.marks.Load() {
		out = make([]byte, 0, len(lines)+(bytes.Count(lines, []byte("\n"))+1)*(len(label)+1))
		for line := range bytes.Lines(lines) {
			out = append(append(out, label...), line...)
		}
		if out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.to.Write(out) // processes must not stop because the reader is gone
}
