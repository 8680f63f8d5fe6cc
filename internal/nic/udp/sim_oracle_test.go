package udp_test

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A half is one side of a connection, and checks its rules:
//
//   - every descriptor comes back, once, and in the order of the posts;
//   - nothing succeeds after something failed;
//   - every message that arrives was sent, once and in order, and all of its bytes are right;
//   - an operation that is done has arrived, and so have writes before a message that arrives;
//   - memory that went back to its owner is not touched;
//   - nothing fails unless something has happened to the connection.
type half struct {
	c      *crowd
	m, to  *machine
	id     int
	level  nic.Reliability
	port   nic.Port
	peer   *half // nil until the other side accepted
	dialed bool
	up     bool
	over   bool
	left   bool // the end was requested
	cut    bool // something has happened that may end the connection
	lost   bool // the machine of one side has crashed
	err    error

	region []byte // the other side writes and reads it
	handle nic.Handle
	slots  [crowdSlots]slot // of the other side's region

	recvs  []*task // posted, in order
	sends  []*task // posted and not back, in order
	failed bool    // one of those
	said   []*task // operations that use a receive, in order
	heard  int     // how many of the other side's arrived here
	writes []*task // since the latest in said
	done   []*task // went back; their memory is not touched any more
}

// A slot is a part of the other side's region.
type slot struct {
	owner   *task // the latest write to it; nil: none, or it failed
	pending int   // operations under way
}

// A task is an operation.
type task struct {
	nic.Descriptor
	of     *half
	buf    []byte
	want   []byte // of a send or write: its content; of a read: the expected bytes
	slot   *slot
	place  int     // index in said
	before []*task // writes before this one, which uses a receive
	posted bool
}

// poison fills memory that is not in use.
const poison = 0xdb

func (h *half) String() string {
	return fmt.Sprintf("connection %d of %s with %s: up %v, %d sends and %d receives posted, said %d, heard %d, left %v, cut %v, lost %v",
		h.id, h.m.name, h.to.name, h.up, len(h.sends), len(h.recvs), len(h.said), h.heard, h.left, h.cut, h.lost)
}

// disturbed records that the connection may end.
func (h *half) disturbed() {
	h.cut = true
	if h.peer != nil {
		h.peer.cut = true
	}
}

// finish records that no events follow.
func (h *half) finish() {
	h.over = true
	for _, t := range h.sends {
		h.back(t)
	}
	for _, t := range h.recvs {
		h.back(t)
	}
	for i := range h.region {
		h.region[i] = poison
	}
}

// back returns a task's memory to its owner.
func (h *half) back(t *task) {
	t.posted = false
	for i := range t.buf {
		t.buf[i] = poison
	}
	if len(t.buf) > 0 {
		h.done = append(h.done, t)
	}
}

// event handles a report of the device.
func (h *half) event(e *nic.Event) {
	t := h.c.t
	require.False(t, h.over, "an event after the end: %d", e.Kind)
	switch e.Kind {
	case nic.EventRecv, nic.EventSend:
		done, ok := e.Desc.Cookie.(*task)
		require.True(t, ok)
		require.True(t, h == done.of)
		require.True(t, done.posted, "it came back twice")
		if e.Kind == nic.EventRecv {
			h.received(done)
		} else {
			h.sent(done)
		}
	case nic.EventConnected:
		require.False(t, h.up, "connected twice")
		h.up = true
	case nic.EventConnectFailed:
		require.True(t, h.dialed && !h.up)
		h.port.Disconnect() // the receives
		h.err = e.Conn.Err
	case nic.EventDisconnected:
		if e.Conn.Err != nil {
			h.err = e.Conn.Err
		}
		h.ended()
	default:
		require.Fail(t, "an event of a strange kind", "%d", e.Kind)
	}
}

// ended checks the end of a connection, or of an attempt.
func (h *half) ended() {
	t := h.c.t
	require.Empty(t, h.sends, "they did not come back")
	require.Empty(t, h.recvs, "they did not come back")
	var rejected *nic.RejectError
	switch {
	case errors.Is(h.err, nic.ErrTimeout), errors.Is(h.err, nic.ErrUnreachable):
		require.True(t, h.cut || !h.up, "%v: %v", h, h.err)
	case errors.Is(h.err, nic.ErrPeerDied):
		require.True(t, h.cut || h.left || h.peer.left, "%v: %v", h, h.err)
	case errors.Is(h.err, nic.ErrClosed):
		require.True(t, h.peer.left, "%v: %v", h, h.err)
	case errors.As(h.err, &rejected):
		require.False(t, h.up)
	default:
		require.NoError(t, h.err)
		require.True(t, h.left, "%v", h)
	}
	require.NoError(t, h.m.dev.Deregister(h.handle))
	require.NoError(t, h.port.Close())
	h.finish()
}

// sent handles a descriptor of the send queue that came back.
func (h *half) sent(done *task) {
	t := h.c.t
	require.NotEmpty(t, h.sends)
	require.True(t, h.sends[0] == done, "the order of completions")
	h.sends = h.sends[1:]
	if done.slot != nil {
		done.slot.pending--
	}
	if done.Status == nic.StatusSuccess {
		require.False(t, h.failed, "it succeeded after something failed")
		h.succeeded(done)
	} else {
		require.Equal(t, nic.StatusFlushed, done.Status)
		require.True(t, h.cut || h.left || h.peer.left, "%v", h)
		h.failed = true
		if done.slot != nil && done.slot.owner == done {
			done.slot.owner = nil
		}
	}
	h.back(done)
}

// succeeded checks that a completed operation has arrived.
func (h *half) succeeded(done *task) {
	t := h.c.t
	switch done.Op {
	case nic.OpRDMARead:
		require.True(t, bytes.Equal(done.want, done.buf), "what was read")
	case nic.OpRDMAWrite:
		h.written(done)
	}
	if done.place >= 0 && h.level == nic.ReliableReception {
		require.Greater(t, h.peer.heard, done.place, "it is done, but has not arrived")
	}
}

// written checks that the bytes of a write are in memory, unless the memory is
// gone.
func (h *half) written(w *task) {
	if !h.peer.over && w.slot.owner == w {
		at := w.Remote.Addr - addrOf(h.peer.region)
		require.True(h.c.t, bytes.Equal(w.want, h.peer.region[at:][:len(w.want)]), "what was written")
	}
}

// received handles a receive that came back.
func (h *half) received(r *task) {
	t := h.c.t
	require.True(t, h.recvs[0] == r, "the order of receives")
	h.recvs = h.recvs[1:]
	if r.Status != nic.StatusSuccess {
		require.Equal(t, nic.StatusFlushed, r.Status)
		h.back(r)
		return
	}
	require.Less(t, h.heard, len(h.peer.said), "nobody sent that")
	m := h.peer.said[h.heard]
	require.Equal(t, len(m.want), r.Length)
	require.Equal(t, m.Flags&nic.FlagImmediate, r.Flags&nic.FlagImmediate)
	if m.Flags&nic.FlagImmediate != 0 {
		require.Equal(t, m.Immediate, r.Immediate)
	}
	if m.Op == nic.OpSend {
		h.content(m, r)
	}
	for _, w := range m.before {
		h.peer.written(w)
	}
	h.heard++
	h.back(r)
	h.postRecv()
}

// content compares the arrived message with the sent one, and checks that the
// memory behind it is unchanged.
func (h *half) content(m, r *task) {
	if r.Flags&nic.FlagLoan != 0 {
		require.True(h.c.t, bytes.Equal(m.want, r.Data), "message %d", h.heard)
		return
	}
	require.True(h.c.t, bytes.Equal(m.want, r.buf[:r.Length]), "message %d", h.heard)
	require.Equal(h.c.t, len(r.buf)-r.Length, bytes.Count(r.buf[r.Length:], []byte{poison}), "bytes behind message %d", h.heard)
}

// quiet reports whether nothing is on its way.
func (h *half) quiet() bool {
	return h.over || h.up && len(h.sends) == 0 && h.peer.heard == len(h.said)
}

// untouched checks that memory was not changed after it went back.
func (h *half) untouched() {
	h.done = append(h.done, &task{buf: h.region})
	for _, d := range h.done {
		require.Equal(h.c.t, len(d.buf), bytes.Count(d.buf, []byte{poison}), "%v: memory of operation %d was used after it went back", h, d.Op)
	}
}

// postRecv posts another receive.
func (h *half) postRecv() {
	r := &task{of: h, place: -1, posted: true}
	r.Op, r.Cookie = nic.OpRecv, r
	if h.c.rng.IntN(2) == 0 {
		r.Flags = nic.FlagLoan
	} else {
		r.buf = bytes.Repeat([]byte{poison}, udp.MTUBytes)
		at := h.c.rng.IntN(len(r.buf))
		r.Segments = []nic.Segment{{Data: r.buf[:at]}, {Data: r.buf[at:]}}
	}
	err := h.port.PostRecv(&r.Descriptor)
	if errors.Is(err, nic.ErrNotConnected) {
		require.True(h.c.t, h.cut || h.left || h.peer.left, "%v", h)
		return // the end comes with the next event
	}
	require.NoError(h.c.t, err)
	h.recvs = append(h.recvs, r)
}
