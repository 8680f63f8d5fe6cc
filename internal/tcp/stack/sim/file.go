package simstack

import (
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

var _ stack.FileSender = (*Stack)(nil)

// SendFile copies bytes of a file into the send buffer, behind earlier ones.
func (*Stack) SendFile(to stack.Stream, head [][]byte, part stack.FileRange) (int, error) {
	s := to.(*Stream)
	n, err := s.Send(head)
	if err != nil || n < total(head) {
		return n, err
	}
	buf := make([]byte, min(part.Len, s.offered()))
	k, err := stack.ReadFile(part, buf)
	if err != nil || k == 0 {
		return n, err
	}
	k, err = s.Send([][]byte{buf[:k]})
	return n + k, err
}

// offered is how many bytes to read for a Send: one more than Send takes, so that the
// file reader notices that the buffer is full.
func (s *Stream) offered() int {
	if s.out == nil {
		return 1
	}
	return s.out.room() + 1
}
