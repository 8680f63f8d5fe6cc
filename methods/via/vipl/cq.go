package vipl

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Queue is one of the two work queues of a VI.
type Queue uint8

const (
	// QueueRecv is the receive queue.
	QueueRecv Queue = iota
	// QueueSend is the send queue: sends and RDMA.
	QueueSend
)

// String is "recv" or "send".
func (q Queue) String() string {
	if q == QueueSend {
		return "send"
	}
	return "recv"
}

// A Completion is one descriptor that came back.
type Completion struct {
	VI    *VI
	Desc  *Descriptor
	Queue Queue
}

// CQEntriesMax bounds a completion queue.
const CQEntriesMax = 1 << 20

// A CQ is a completion queue: it collects the completions of any number of work
// queues.
//
// A full CQ loses nothing: its NIC delivers no further events until a completion is
// taken.
type CQ struct {
	n     *NIC
	ring  []Completion // a power of two long
	head  int          // 0 ≤ head < len(ring)
	count int          // 0 ≤ count ≤ max
	max   int          // ≤ len(ring)
	users int          // work queues that complete here
	fn    func(Completion)
}

// CreateCQ makes a completion queue of the given number of entries.
func (n *NIC) CreateCQ(entries int) (*CQ, error) {
	if n.closed {
		return nil, errDestroyed
	}
	if entries < 1 || entries > CQEntriesMax {
		return nil, fmt.Errorf("%w: a completion queue has 1 to %d entries, not %d", ErrInvalidParameter, CQEntriesMax, entries)
	}
	n.cqs++
	return &CQ{n: n, ring: make([]Completion, ringSize(entries)), max: entries}, nil
}

func ringSize(entries int) int { return 1 << bits.Len(uint(entries-1)) }

// Destroy frees the queue. It fails with ErrResource while a VI uses it.
func (cq *CQ) Destroy() error {
	if cq.users > 0 {
		return fmt.Errorf("%w: %d work queues complete through it", ErrResource, cq.users)
	}
	cq.n.dropNotifier(cq)
	cq.n.cqs--
	return nil
}

// Resize changes the number of entries. It fails with ErrResource if more
// completions than that are waiting.
func (cq *CQ) Resize(entries int) error {
	if entries < 1 || entries > CQEntriesMax {
		return fmt.Errorf("%w: a completion queue has 1 to %d entries, not %d", ErrInvalidParameter, CQEntriesMax, entries)
	}
	if cq.count > entries {
		return fmt.Errorf("%w: %d completions wait, more than %d", ErrResource, cq.count, entries)
	}
	ring := make([]Completion, ringSize(entries))
	for i := range cq.count {
		ring[i] = cq.ring[(cq.head+i)&(len(cq.ring)-1)]
	}
	cq.ring, cq.head, cq.max = ring, 0, entries
	return nil
}

func (cq *CQ) push(c Completion) bool {
	if cq.count == cq.max {
		return false
	}
	cq.ring[(cq.head+cq.count)&(len(cq.ring)-1)] = c
	cq.count++
	return true
}

func (cq *CQ) take(out []Completion) int {
	k := min(len(out), cq.count)
	mask := len(cq.ring) - 1
	for i := range k {
		out[i] = cq.ring[(cq.head+i)&mask]
	}
	cq.head = (cq.head + k) & mask
	cq.count -= k
	return k
}

// Poll makes progress on the NIC and fills out with completions of this queue,
// oldest first. What arrives now does not pass through the ring. On a NIC with
// Events, Poll stops at a connection event, so that a consumer that handles out and
// then calls PollEvents sees everything in the order in which it happened.
func (cq *CQ) Poll(out []Completion) int {
	n := cq.n
	k := 0
	if cq.count > 0 {
		k = cq.take(out)
	}
	if n.slow > 0 {
		n.attend()
	}
	if k == len(out) || len(n.events) > 0 {
		return k
	}
	if n.at == n.have {
		if n.closed {
			return k
		}
		n.at = 0
		n.have = n.dev.Poll(n.buf[:min(len(out)-k, PollBatch)])
	}
	for n.at < n.have && k < len(out) {
		ev := &n.buf[n.at]
		if ev.Kind == nic.EventRecv {
			if vi := ev.Cookie.(*VI); vi.recvCQ == cq {
				vi.recvs--
				out[k] = Completion{VI: vi, Desc: ev.Desc, Queue: QueueRecv}
				k++
				n.at++
				continue
			}
		} else if ev.Kind == nic.EventSend {
			if vi := ev.Cookie.(*VI); vi.sendCQ == cq {
				vi.sends--
				out[k] = Completion{VI: vi, Desc: ev.Desc, Queue: QueueSend}
				k++
				n.at++
				continue
			}
		}
		if !n.deliver(ev) {
			break
		}
		n.at++
		if len(n.events) > 0 {
			break
		}
	}
	return k
}

// Done takes the oldest completion off the queue and returns its work queue, where
// SendDone or RecvDone then finds the descriptor. It returns ErrNotDone if there is
// none.
func (cq *CQ) Done() (*VI, Queue, error) {
	var c [1]Completion
	if cq.Poll(c[:]) == 0 {
		return nil, 0, ErrNotDone
	}
	c[0].park()
	return c[0].VI, c[0].Queue, nil
}

// park puts a completion where SendDone or RecvDone finds it.
func (c Completion) park() {
	if c.Queue == QueueSend {
		c.VI.sendDone.Push(c.Desc)
	} else {
		c.VI.recvDone.Push(c.Desc)
	}
}

// Wait is Done, but waits for up to timeout (< 0: without limit), after which it
// returns ErrTimeout. On a NIC with Events it returns ErrInvalidState when
// connection events must be taken first.
func (cq *CQ) Wait(timeout time.Duration) (vi *VI, q Queue, err error) {
	waitErr := cq.n.wait(timeout, func() bool {
		vi, q, err = cq.Done()
		return err == nil
	})
	if waitErr != nil {
		return nil, 0, waitErr
	}
	return vi, q, nil
}

// Notify makes a Poll of the NIC call fn once, with the next completion of this
// queue. fn may post descriptors and call Notify again, but must not poll. Nil
// removes the handler.
func (cq *CQ) Notify(fn func(Completion)) {
	cq.fn = fn
	cq.n.setNotifier(cq, fn != nil)
}

func (cq *CQ) notify() {
	for cq.fn != nil && cq.count > 0 {
		var c [1]Completion
		cq.take(c[:])
		fn := cq.fn
		cq.Notify(nil)
		fn(c[0])
	}
}
