package secure

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// outgoing holds encrypted bytes that the stream below has not taken. Its memory
// belongs to the stack and goes back when it is empty, so that a connection with
// nothing to send has none.
type outgoing struct {
	mem  []byte
	from int // mem[from:] is to be sent
}

func (o *outgoing) add(owner *Stack, b []byte) {
	if o.mem == nil {
		o.mem = owner.takeBuffer()
	}
	if o.from > 0 && len(o.mem)+len(b) > cap(o.mem) {
		o.mem = o.mem[:copy(o.mem, o.mem[o.from:])]
		o.from = 0
	}
	o.mem = append(o.mem, b...)
}

func (o *outgoing) release(owner *Stack) {
	if o.mem != nil {
		owner.giveBuffer(o.mem)
		*o = outgoing{}
	}
}

// pending is how many bytes wait.
func (s *stream) pending() int { return len(s.out.mem) - s.out.from }

// flush hands bytes to the stream below, unless that is blocked and no event came
// since. An error is permanent.
func (s *stream) flush() error {
	if s.outErr != nil {
		return s.outErr
	}
	for s.pending() > 0 && !s.blocked {
		s.piece[0] = s.out.mem[s.out.from:]
		n, err := s.inner.Send(s.piece[:])
		s.piece[0] = nil
		s.out.from += n
		if errors.Is(err, stack.ErrAgain) {
			s.blocked = s.pending() > 0
			break
		}
		if err != nil {
			s.outErr = err
			s.out.release(s.owner)
			return err
		}
	}
	if s.pending() > 0 {
		return nil
	}
	s.out.release(s.owner)
	if s.finish == finishAnnounced {
		s.finish = finishDone
		s.outErr = s.inner.Finish()
	}
	return s.outErr
}

// buffersMax is how many empty buffers a stack keeps for the next stream.
const buffersMax = 16

func (t *Stack) takeBuffer() []byte {
	if n := len(t.buffers); n > 0 {
		mem := t.buffers[n-1]
		t.buffers = t.buffers[:n-1]
		return mem
	}
	return make([]byte, 0, outgoingBytesMax+outgoingSlack)
}

func (t *Stack) giveBuffer(mem []byte) {
	if len(t.buffers) < buffersMax {
		t.buffers = append(t.buffers, mem[:0])
	}
}
