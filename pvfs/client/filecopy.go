package client

import (
	"io"
	"sync"
)

var (
	_ io.WriterTo   = (*File)(nil)
	_ io.ReaderFrom = (*File)(nil)
)

// copyBytes is the size of the buffers of ReadFrom and WriteTo. Each uses two.
const copyBytes = 4 << 20

var copyBuffers = sync.Pool{New: func() any { return new([copyBytes]byte) }}

// WriteTo writes the rest of the file to w. It reads ahead while w writes.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	return relay(func(b []byte) (int, error) {
		return f.reading(func() (int64, error) { return f.read(f.fsys.ctx, memoryOf(b)) })
	}, w.Write)
}

// ReadFrom writes all of r to the file. It reads ahead during the writes. If a write fails, some bytes of r are lost.
func (f *File) ReadFrom(r io.Reader) (int64, error) {
	return relay(func(b []byte) (int, error) { return io.ReadFull(r, b) }, f.Write)
}

// chunk is the result of one read.
type chunk struct {
	buf *[copyBytes]byte
	n   int
	err error
}

// relay copies from read to write until io.EOF or io.ErrUnexpectedEOF, which may come with the last bytes. Reading is one chunk
// ahead of writing.
func relay(read, write func(b []byte) (int, error)) (done int64, err error) {
	next := func() chunk {
		c := chunk{buf: copyBuffers.Get().(*[copyBytes]byte)}
		c.n, c.err = read(c.buf[:])
		return c
	}
	c := next()
	for {
		var ahead chan chunk
		if c.err == nil {
			ahead = make(chan chunk, 1)
			go func() { ahead <- next() }()
		}
		n := 0
		if c.n > 0 {
			n, err = write(c.buf[:c.n])
			done += int64(n)
		}
		copyBuffers.Put(c.buf)
		if ahead == nil {
			if err == nil && c.err != io.EOF && c.err != io.ErrUnexpectedEOF {
				err = c.err
			}
			return done, err
		}
		c = <-ahead
		if err != nil {
			copyBuffers.Put(c.buf)
			return done, err
		}
	}
}
