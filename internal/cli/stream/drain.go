package stream

import (
	"errors"
	"fmt"
)

// errOutput marks a failure of the receiver's output.
var errOutput = errors.New("the output failed")

// drain writes blocks in order and posts their receives again. It has its own
// goroutine because the output may block.
func (r *receiver) drain() {
	defer close(r.written)
	for {
		select {
		case <-r.w.done:
			return
		case b, more := <-r.due:
			if !more {
				return
			}
			if r.drainErr = r.write(b); r.drainErr != nil {
				return
			}
		}
	}
}

func (r *receiver) write(b *block) error {
	data := b.buf[headerBytes:b.size]
	n, err := r.out.Write(data)
	if err != nil {
		return fmt.Errorf("%w after %d bytes: %w", errOutput, r.bytes.Load()+int64(n), err)
	}
	err = r.w.touch(func() error {
		r.sum.Write(data)
		return nil
	})
	if err != nil {
		return err
	}
	written := r.bytes.Add(int64(len(data)))
	if r.opt.Progress != nil {
		r.opt.Progress(written)
	}
	if err := r.post(b); err != nil {
		return gone("sender", written, err)
	}
	return nil
}
