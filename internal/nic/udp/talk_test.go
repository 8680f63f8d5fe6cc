package udp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

const (
	talkWindow = 12 // posted and not done; all of the other side's receives may be needed
	rdmaBytes  = 3000
	rdmaEvery  = 16 // messages
	rdmaSlots  = 4
)

// A talk is a stream of numbered messages from one side to the other, with RDMA in between. It
// checks, over one or several connections, that every message that arrives was sent, once and in
// order, and that every operation reported done has arrived.
type talk struct {
	t        testing.TB
	from, to *side
	size     func(n uint64) int // of message n, at least 8 bytes
	quiet    bool               // sends no more
	wild     bool               // anything may arrive

	next     uint64 // number of the next message
	base     uint64 // number of the connection's first one
	expected uint64 // number that arrives next
	total    uint64 // arrived, over all connections
	done     uint64 // reported done
	failed   uint64
	pending  int
	free     []*note

	region []byte // of the side that listens; the other one writes into it
	handle nic.Handle
	fixed  []byte // never changes; is read
	fixedH nic.Handle
}

// A note is a descriptor of the talk and its message.
type note struct {
	d   nic.Descriptor
	buf []byte
	n   uint64
	of  *talk
}

func newTalk(from, to *side, size func(n uint64) int) *talk {
	c := &talk{t: from.t, from: from, to: to, size: size}
	c.region = make([]byte, rdmaSlots*rdmaBytes)
	c.fixed = make([]byte, rdmaBytes)
	fill(c.fixed, 99)
	c.register()
	from.done = c.ended
	to.taken = c.arrived
	return c
}

// register registers the memory with the device that listens.
func (c *talk) register() {
	var err error
	c.handle, err = c.to.d.Register(c.region, nic.AccessRemoteWrite, sideTag)
	require.NoError(c.t, err)
	c.fixedH, err = c.to.d.Register(c.fixed, nic.AccessRemoteRead, sideTag)
	require.NoError(c.t, err)
}

// restart begins with a new connection.
func (c *talk) restart() { c.base, c.expected = c.next, c.next }

// speak posts as much as there is room for.
func (c *talk) speak() {
	for !c.quiet && c.from.up && c.pending < talkWindow-2 {
		if c.next%rdmaEvery == 0 && !c.write() {
			return
		}
		if !c.message() {
			return
		}
	}
}

func (c *talk) note() *note {
	if len(c.free) == 0 {
		return &note{of: c, buf: make([]byte, 8192)}
	}
	n := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	return n
}

func (c *talk) post(n *note, op nic.Op, payload []byte) bool {
	n.n = c.next
	n.d = nic.Descriptor{Op: op, Remote: n.d.Remote, Segments: append(n.d.Segments[:0], nic.Segment{Data: payload}), Cookie: n}
	c.pending++
	if c.from.post(&n.d) {
		return true
	}
	c.pending--
	c.free = append(c.free, n)
	return false
}

func (c *talk) message() bool {
	n := c.note()
	payload := n.buf[:c.size(c.next)]
	fill(payload, c.next)
	if !c.post(n, nic.OpSend, payload) {
		return false
	}
	c.next++
	return true
}

func slotOf(n uint64) uint64 { return n / rdmaEvery % rdmaSlots * rdmaBytes }

// write posts a write and a read.
func (c *talk) write() bool {
	n := c.note()
	fill(n.buf[:rdmaBytes], c.next)
	n.d.Remote = nic.Remote{Addr: addrOf(c.region) + slotOf(c.next), Handle: c.handle}
	if !c.post(n, nic.OpRDMAWrite, n.buf[:rdmaBytes]) {
		return false
	}
	n = c.note()
	clear(n.buf)
	n.d.Remote = nic.Remote{Addr: addrOf(c.fixed), Handle: c.fixedH}
	return c.post(n, nic.OpRDMARead, n.buf[:rdmaBytes])
}

// arrived takes a message.
func (c *talk) arrived(payload []byte) {
	if c.wild {
		c.total++
		return
	}
	n := numberOf(c.t, payload)
	require.Equal(c.t, c.expected, n, "order")
	require.Less(c.t, n, c.next, "nobody sent that")
	require.Len(c.t, payload, c.size(n))
	if n%rdmaEvery == 0 {
		require.Equal(c.t, n, numberOf(c.t, c.region[slotOf(n):][:rdmaBytes]), "the write before")
	}
	c.expected++
	c.total++
}

// ended handles a descriptor that came back.
func (c *talk) ended(d *nic.Descriptor) {
	n, ok := d.Cookie.(*note)
	require.True(c.t, ok)
	c.pending--
	if c.wild {
		c.free = append(c.free, n)
		return
	}
	if d.Status != nic.StatusSuccess {
		require.Equal(c.t, nic.StatusFlushed, d.Status)
		c.failed++
	} else {
		c.done++
		switch d.Op {
		case nic.OpSend:
			if c.from.level == nic.ReliableReception {
				require.Less(c.t, n.n, c.expected, "done, but it has not arrived")
			}
		case nic.OpRDMARead:
			require.EqualValues(c.t, 99, numberOf(c.t, n.buf[:rdmaBytes]))
		}
	}
	c.free = append(c.free, n)
}
