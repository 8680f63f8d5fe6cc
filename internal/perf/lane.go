package perf

import (
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// laneWait is how long one Test call waits. stallsMax is how many such calls in a
// row may return nothing before the other side is given up.
const (
	laneWait  = time.Second
	stallsMax = 30
)

// errStalled ends a run whose other side is alive but does nothing.
var errStalled = errors.New("perf: no message completed for 30 s, the other side does not answer")

// Marks distinguish the completions of a lane. They are pointers, so that passing
// them to a post does not allocate.
type (
	sendMark struct{ _ byte }
	recvMark struct{ _ byte }
)

// A lane is one side of a run: the timed loops, which neither allocate nor read a
// clock. Messages of the run go to and come from one peer with one tag. Posts and
// completions are counted from the start of the run.
type lane struct {
	c    *bmi.Context
	peer bmi.Addr
	tag  bmi.Tag

	// out is sent again and again, and sends are posts of it. recvs are the buffers to receive
	// into, in turn: a buffer is not posted again before it has completed.
	out   []byte
	sends []bmi.Post
	recvs []bmi.Post
	// recvSize is the required size of each received message.
	recvSize int
	// recvTotal is the number of receives of the whole run.
	recvTotal int

	sendsPosted, sendsDone int
	recvsPosted, recvsDone int
	stalls                 int

	sendMark    *sendMark
	recvMark    *recvMark
	completions [64]bmi.Completion
}

// postSends posts n messages.
func (l *lane) postSends(n int) error {
	for n > 0 {
		posted, err := l.c.PostSends(l.peer, l.sends[:min(n, len(l.sends))])
		for i := range l.sends[:posted] {
			if l.sends[i].Posted.Done {
				l.sendsDone++
			}
		}
		l.sendsPosted += posted
		n -= posted
		if err := l.again("sends", err); err != nil {
			return err
		}
	}
	return nil
}

// postRecvs posts the next n receives, or as many as the run has left.
func (l *lane) postRecvs(n int) error {
	for n = min(n, l.recvTotal-l.recvsPosted); n > 0; {
		next := l.recvs[l.recvsPosted%len(l.recvs):]
		posted, err := l.c.PostRecvs(l.peer, next[:min(n, len(next))])
		for i := range next[:posted] {
			if p := next[i].Posted; p.Done {
				if err := l.received(p.Size); err != nil {
					return err
				}
			}
		}
		l.recvsPosted += posted
		n -= posted
		if err := l.again("receives", err); err != nil {
			return err
		}
	}
	return nil
}

// again handles the error of a post: if there was no room for all of it, the rest can be posted when
// something has completed.
func (l *lane) again(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bmi.ErrAgain):
		return l.poll()
	}
	return fmt.Errorf("perf: post %s: %w", what, err)
}

// postSend posts one message.
func (l *lane) postSend(buf []byte) error {
	for {
		p, err := l.c.PostSend(l.peer, l.tag, buf, l.sendMark)
		if err == nil {
			l.sendsPosted++
			if p.Done {
				l.sendsDone++
			}
			return nil
		}
		if err := l.again("a send", err); err != nil {
			return err
		}
	}
}

// postRecv posts the next receive, if the run has one left.
func (l *lane) postRecv() error {
	for l.recvsPosted < l.recvTotal {
		p, err := l.c.PostRecv(l.peer, l.tag, l.recvs[l.recvsPosted%len(l.recvs)].Buf, l.recvMark)
		if err == nil {
			l.recvsPosted++
			if p.Done {
				return l.received(p.Size)
			}
			return nil
		}
		if err := l.again("a receive", err); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) received(size int) error {
	if size != l.recvSize {
		return fmt.Errorf("%w: a message of %d bytes where %d were agreed", errFormat, size, l.recvSize)
	}
	l.recvsDone++
	return nil
}

// poll takes completions, waiting for the first.
func (l *lane) poll() error {
	n, err := l.c.TestContext(l.completions[:], laneWait)
	if err != nil {
		return fmt.Errorf("perf: test: %w", err)
	}
	if n == 0 {
		if l.stalls++; l.stalls >= stallsMax {
			return errStalled
		}
		return nil
	}
	l.stalls = 0
	for i := range l.completions[:n] {
		done := &l.completions[i]
		if done.Err != nil {
			return fmt.Errorf("perf: a message failed: %w", done.Err)
		}
		if _, isRecv := done.User.(*recvMark); !isRecv {
			l.sendsDone++
		} else if err := l.received(done.Size); err != nil {
			return err
		}
	}
	return nil
}

// awaitRecvs returns when n receives have completed since the start.
func (l *lane) awaitRecvs(n int) error {
	for l.recvsDone < n {
		if err := l.poll(); err != nil {
			return err
		}
	}
	return nil
}

// awaitSends returns when all sends are done.
func (l *lane) awaitSends() error {
	for l.sendsDone < l.sendsPosted {
		if err := l.poll(); err != nil {
			return err
		}
	}
	return nil
}

// pingPong sends first and waits for the answer, n times. The receive for an
// answer is posted before the message that it answers.
func (l *lane) pingPong(n int) error {
	for range n {
		if err := l.awaitSends(); err != nil {
			return err
		}
		if err := l.postSend(l.out); err != nil {
			return err
		}
		if len(l.recvs) > 1 { // the next one, while the message is under way
			if err := l.postRecv(); err != nil {
				return err
			}
		}
		if err := l.awaitRecvs(l.sendsPosted); err != nil {
			return err
		}
		if len(l.recvs) == 1 {
			if err := l.postRecv(); err != nil {
				return err
			}
		}
	}
	return l.awaitSends()
}

// pongPing answers n times.
func (l *lane) pongPing(n int) error {
	for range n {
		if err := l.awaitRecvs(l.sendsPosted + 1); err != nil {
			return err
		}
		if len(l.recvs) == 1 { // the only buffer: posted before the answer triggers the next message
			if err := l.postRecv(); err != nil {
				return err
			}
		}
		if err := l.postSend(l.out); err != nil {
			return err
		}
		if len(l.recvs) > 1 {
			if err := l.postRecv(); err != nil {
				return err
			}
		}
		if err := l.awaitSends(); err != nil {
			return err
		}
	}
	return nil
}

// pour sends n windows; each is answered by one empty message.
func (l *lane) pour(n, window int) error {
	for range n {
		if err := l.postSends(window); err != nil {
			return err
		}
		if err := l.awaitRecvs(l.recvsPosted); err != nil {
			return err
		}
		if err := l.awaitSends(); err != nil {
			return err
		}
		if err := l.postRecv(); err != nil {
			return err
		}
	}
	return nil
}

// drink receives n windows and answers each; the receives of the next window are
// posted before the answer.
func (l *lane) drink(n, window int) error {
	for range n {
		if err := l.awaitRecvs(l.recvsPosted); err != nil {
			return err
		}
		if err := l.postRecvs(window); err != nil {
			return err
		}
		if err := l.postSend(nil); err != nil {
			return err
		}
		if err := l.awaitSends(); err != nil {
			return err
		}
	}
	return nil
}

// exchange sends and receives n windows at once.
func (l *lane) exchange(n, window int) error {
	for range n {
		due := l.recvsPosted
		if err := l.postSends(window); err != nil {
			return err
		}
		if err := l.awaitRecvs(due); err != nil {
			return err
		}
		if err := l.postRecvs(window); err != nil {
			return err
		}
		if err := l.awaitSends(); err != nil {
			return err
		}
	}
	return nil
}
