package wire

import (
	"bufio"
	"errors"
	"io"
)

// ReadLine reads a line with its end and appends it to buf. An incomplete line at the end of the
// input is io.ErrUnexpectedEOF.
func ReadLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	start := len(buf)
	for {
		piece, err := r.ReadSlice('\n')
		if len(buf)-start+len(piece) > LineBytesMax {
			return buf[:start], ErrTooLong
		}
		buf = append(buf, piece...)
		switch {
		case err == nil:
			return buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(buf) > start:
			return buf[:start], io.ErrUnexpectedEOF
		default:
			return buf[:start], err
		}
	}
}

// ReadFrame reads a command of PMI-2.
func ReadFrame(r io.Reader) (Command, error) {
	var head [FrameHeadBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Command{}, err
	}
	n, err := ParseFrameHead(head)
	if err != nil {
		return Command{}, err
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return Command{}, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return ParseFrame(body)
}
