package vipl

import (
	"fmt"
	"time"
)

var errQueueEmpty = fmt.Errorf("%w: nothing is posted on this queue", ErrDescriptor)

// PostRecv appends a receive descriptor. The VI need not be connected. It returns
// ErrAgain when the queue is full.
func (vi *VI) PostRecv(d *Descriptor) error {
	if vi.state > Connected || vi.stale {
		if err := vi.ready(); err != nil {
			return err
		}
	}
	err := vi.port.PostRecv(d)
	if err == nil {
		vi.recvs++
	}
	return err
}

// PostSend appends a send, RDMA write or RDMA read descriptor. done reports that the
// NIC finished it within the call: d has its Status and does not come back through a
// queue. PostSend returns ErrAgain if the queue is full, and ErrInvalidState if the
// VI is not connected. In both cases d was not accepted.
func (vi *VI) PostSend(d *Descriptor) (done bool, err error) {
	if vi.state != Connected {
		return false, errPostState
	}
	done, err = vi.port.PostSend(d)
	if err == nil && !done {
		vi.sends++
	}
	return done, err
}

// SendsOut is how many descriptors of the send queue are posted and have not been returned.
func (vi *VI) SendsOut() int { return vi.sends }

// RecvDone takes the oldest completed receive off the queue. It returns
// ErrNotDone if none has completed, a descriptor and an ErrDescriptor if that
// descriptor failed, and only an ErrDescriptor if nothing is posted.
//
// If the queue completes through a CQ, RecvDone returns what CQ.Done announced.
func (vi *VI) RecvDone() (*Descriptor, error) {
	d := vi.recvDone.Pop()
	if d == nil && vi.recvCQ == nil {
		vi.n.Poll()
		d = vi.recvDone.Pop()
	}
	return doneResult(d, vi.recvs)
}

// SendDone is RecvDone for the send queue.
func (vi *VI) SendDone() (*Descriptor, error) {
	d := vi.sendDone.Pop()
	if d == nil && vi.sendCQ == nil {
		vi.n.Poll()
		d = vi.sendDone.Pop()
	}
	return doneResult(d, vi.sends)
}

func doneResult(d *Descriptor, posted int) (*Descriptor, error) {
	switch {
	case d != nil:
		return d, Err(d)
	case posted == 0:
		return nil, errQueueEmpty
	}
	return nil, ErrNotDone
}

// RecvWait is RecvDone, but waits for up to timeout (< 0: without limit), after which
// it returns ErrTimeout. It returns ErrInvalidState if the queue completes
// through a CQ.
func (vi *VI) RecvWait(timeout time.Duration) (*Descriptor, error) {
	return vi.waitQueue(vi.recvCQ, timeout, vi.RecvDone)
}

// SendWait is RecvWait for the send queue.
func (vi *VI) SendWait(timeout time.Duration) (*Descriptor, error) {
	return vi.waitQueue(vi.sendCQ, timeout, vi.SendDone)
}

func (vi *VI) waitQueue(cq *CQ, timeout time.Duration, take func() (*Descriptor, error)) (d *Descriptor, err error) {
	if cq != nil {
		return nil, errCQQueue
	}
	waitErr := vi.n.wait(timeout, func() bool {
		d, err = take()
		return err != ErrNotDone
	})
	if waitErr != nil {
		return nil, waitErr
	}
	return d, err
}

// RecvNotify makes a Poll of the NIC call fn once, with the next receive that
// completes, or that has completed and was not taken. fn may post descriptors and
// call RecvNotify again, but must not poll. Nil removes the handler. RecvNotify
// returns ErrInvalidState if the queue completes through a CQ.
func (vi *VI) RecvNotify(fn func(*VI, *Descriptor)) error {
	if vi.recvCQ != nil {
		return errCQQueue
	}
	vi.recvFn = fn
	vi.n.setNotifier(vi, vi.recvFn != nil || vi.sendFn != nil)
	return nil
}

// SendNotify is RecvNotify for the send queue.
func (vi *VI) SendNotify(fn func(*VI, *Descriptor)) error {
	if vi.sendCQ != nil {
		return errCQQueue
	}
	vi.sendFn = fn
	vi.n.setNotifier(vi, vi.recvFn != nil || vi.sendFn != nil)
	return nil
}

func (vi *VI) notify() {
	for vi.sendFn != nil && vi.sendDone.Head() != nil {
		fn := vi.sendFn
		_ = vi.SendNotify(nil) // cannot fail: a handler was there
		fn(vi, vi.sendDone.Pop())
	}
	for vi.recvFn != nil && vi.recvDone.Head() != nil {
		fn := vi.recvFn
		_ = vi.RecvNotify(nil)
		fn(vi, vi.recvDone.Pop())
	}
}
