package stream

import (
	"errors"
	"fmt"
	"io"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// errInput marks a failure of the sender's input.
var errInput = errors.New("the input failed")

// feed reads the input into free blocks and posts them. It has its own goroutine
// because the input may block.
func (s *sender) feed() {
	defer close(s.fed)
	for {
		var b *block
		select {
		case b = <-s.free:
		case <-s.w.done:
			return
		}
		n, err := io.ReadFull(s.in, b.buf[headerBytes:headerBytes+s.opt.Block])
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			s.feedErr = fmt.Errorf("%w after %d bytes: %w", errInput, s.total+int64(n), err)
			return
		}
		if n == 0 {
			s.feedErr = s.postEnd(b)
			return
		}
		// If the stream ended within this block, the next read reports the end
		// again.
		if s.feedErr = s.postData(b, n); s.feedErr != nil {
			return
		}
	}
}

// postData posts a block of n bytes and adds it to the checksum while it is being
// sent, because both only read it.
func (s *sender) postData(b *block, n int) error {
	done, err := s.postBlock(b, kindData, n, func([]byte) {})
	if err != nil {
		return err
	}
	err = s.w.touch(func() error {
		s.sum.Write(b.buf[headerBytes : headerBytes+n])
		s.total += int64(n)
		return nil
	})
	if err == nil && done {
		s.took(b)
	}
	return err
}

func (s *sender) postEnd(b *block) error {
	_, err := s.postBlock(b, kindEnd, endBytes, func(payload []byte) {
		var sum [32]byte
		s.sum.Sum(sum[:0])
		putEnd(payload, s.total, sum)
	})
	return err
}

func (s *sender) postBlock(b *block, kind byte, n int, fill func(payload []byte)) (done bool, err error) {
	err = s.w.touch(func() error {
		header{kind: kind, length: n, sequence: s.sequence, session: s.w.session}.put(b.buf)
		fill(b.buf[headerBytes : headerBytes+n])
		b.size = headerBytes + n
		return nil
	})
	if err != nil {
		return false, err
	}
	p, err := s.w.post("send a block", func() (bmi.Posted, error) {
		p, err := s.w.c.PostSend(s.w.peer, tagBlock, b.buf[:b.size], b)
		if err == nil {
			s.sequence++
		}
		return p, err
	})
	return p.Done, err
}
