package tree

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
)

// output handles output of a neighbour. The neighbour may send as much as its window has room for.
func (n *Node) output(i int, f *wire.Output) {
	c := &n.near[i]
	if c.waits+len(f.Data) > OutputWindow {
		n.send(c.at, nil)
		n.lose(i, fmt.Sprintf("it sends more than the %d bytes of output that it may", OutputWindow))
		return
	}
	c.waits += len(f.Data)
	n.waiting = append(n.waiting, &queued{f, i})
	n.pump()
}

// queued is output with the neighbour that it came from.
type queued struct {
	*wire.Output
	from int
}

// push queues a frame for the parent after the waiting output.
func (n *Node) push(f wire.Frame) {
	n.waiting = append(n.waiting, f)
	n.pump()
}

// pump sends waiting frames as long as the parent has room.
func (n *Node) pump() {
	sent := 0
	for _, f := range n.waiting {
		q, ok := f.(*queued)
		if !ok {
			n.send(Up, f)
			sent++
			continue
		}
		if len(q.Data) > n.credit {
			break
		}
		n.credit -= len(q.Data)
		n.send(Up, q.Output)
		sent++
		c := &n.near[q.from]
		c.waits -= len(q.Data)
		if c.taken += len(q.Data); c.taken >= outputTakenMin && !c.lost {
			n.send(c.at, &wire.OutputTaken{Bytes: c.taken})
			c.taken = 0
		}
	}
	n.waiting = append(n.waiting[:0], n.waiting[sent:]...)
}
