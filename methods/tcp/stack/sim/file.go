package simstack

import (
	"github.com/viaduct-hpc/viaduct/methods/tcp/stack"
)

var _ stack.FileSender = (*Stack)(nil)

// SendFile takes bytes of a file into the send buffer, behind others.
func (*Stack) SendFile(to stack.Stream, head [][]byte, part stack.FilePart) (int, error) {
	s := to.(*Stream)
	n, err := s.Send(head)
	if err != nil || n < total(head) {
		return n, err
	}
	buf := make([]byte, min(part.Most, s.offered()))
	k, err := part.Read(buf)
	if err != nil || k == 0 {
		return n, err
	}
	k, err = s.Send([][]byte{buf[:k]})
	return n + k, err
}

// offered is how many bytes it makes sense to read for a Send: one more than it takes, so
// that it sees its buffer fill.
func (s *Stream) offered() int {
	if s.out == nil {
		return 1
	}
	return s.out.room() + 1
}
