package udp_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

const (
	trafficSeedsMax = 100
	trafficTurns    = 4000
	trafficHalves   = 8 // at a time
	trafficPosts    = 8
)

// TestSimTraffic: machines with several connections send messages and memory of every
// size to each other, while connections begin and end, machines restart, and the
// network has faults.
func TestSimTraffic(t *testing.T) {
	sim.RunAtMost(t, trafficSeedsMax, func(t *testing.T, seed uint64) {
		newCrowd(t, seed).run()
	})
}

// run drives the traffic. Half of the runs have no disasters, so that everything must
// succeed.
func (c *crowd) run() {
	disasters := c.rng.IntN(2) == 0
	for range trafficTurns {
		if c.rng.IntN(4) == 0 {
			c.act(disasters)
		}
		c.turn()
	}
	c.windUp()
}

// pick returns a random element.
func pick[T any](rng *rand.Rand, of []T) T { return of[rng.IntN(len(of))] }

// act does one random thing.
func (c *crowd) act(disasters bool) {
	live := c.live()
	switch n := c.rng.IntN(1000); {
	case len(live) == 0, n < 20 && len(live) < trafficHalves:
		c.dial(pick(c.rng, c.machines), pick(c.rng, c.machines))
	case n < 24:
		pick(c.rng, live).leave()
	case n < 27 && disasters:
		c.split(pick(c.rng, c.machines), pick(c.rng, c.machines))
	case n < 29 && disasters:
		c.crash(pick(c.rng, c.machines))
	case n < 32 && disasters:
		c.rest()
	default:
		h := pick(c.rng, live)
		for range 1 + c.rng.IntN(trafficPosts) {
			h.post()
		}
	}
}

// rest lets time pass without posts: a partition may outlast connections.
func (c *crowd) rest() {
	for end := c.w.Clock() + c.w.Sim.Between(0, 2*crowdGiveUp); c.w.Clock() < end; {
		c.turn()
	}
}

// leave ends a connection in good order: all completed operations arrive.
func (h *half) leave() {
	if h.up && !h.left {
		h.left = true
		h.port.Disconnect()
	}
}

// post starts a random operation.
func (h *half) post() {
	if !h.up || h.left || len(h.sends) == crowdSends || h.peer.heard+crowdRecvs-1 <= len(h.said) {
		return
	}
	t := &task{of: h, place: -1}
	t.Cookie = t
	switch n := h.c.rng.IntN(10); {
	case n < 6:
		h.message(t)
	case !h.remote(t, n < 9):
		return
	}
	t.buf = bytes.Clone(t.want)
	if t.Op == nic.OpRDMARead {
		clear(t.buf)
	}
	at := h.c.rng.IntN(len(t.buf) + 1)
	t.Segments = []nic.Segment{{Data: t.buf[:at]}, {Data: t.buf[at:]}}
	h.hand(t)
}

// message makes a task a send, of a size at which the code takes another path.
func (h *half) message(t *task) {
	rng := h.c.rng
	t.Op = nic.OpSend
	t.want = h.c.some(pick(rng, []int{0, 1, nic.InlineMax, udp.CopyBytes, udp.PriorityBytes, udp.MTUBytes, rng.IntN(udp.MTUBytes)}))
	h.says(t)
}

// says records that a task uses a receive.
func (h *half) says(t *task) {
	t.place, t.before = len(h.said), h.writes
	if h.c.rng.IntN(3) == 0 || t.Op == nic.OpRDMAWrite {
		t.Flags, t.Immediate = nic.FlagImmediate, h.c.rng.Uint32()
	}
}

// remote makes a task a write to a slot that is not in use, or a read of one that was
// written; it returns false if there is none.
func (h *half) remote(t *task, write bool) bool {
	rng := h.c.rng
	i := rng.IntN(crowdSlots)
	t.slot = &h.slots[i]
	t.Remote = nic.Remote{Addr: addrOf(h.peer.region) + uint64(i*crowdSlotSize), Handle: h.peer.handle}
	if !write {
		t.Op = nic.OpRDMARead
		if t.slot.owner == nil {
			return false
		}
		t.want = t.slot.owner.want
		t.Remote.Addr = t.slot.owner.Remote.Addr
		return true
	}
	if t.slot.pending > 0 {
		return false
	}
	t.Op = nic.OpRDMAWrite
	off := rng.IntN(100)
	t.Remote.Addr += uint64(off)
	t.want = h.c.some(pick(rng, []int{1, 100, rng.IntN(crowdSlotSize - off), crowdSlotSize - off}))
	t.slot.owner = t
	if rng.IntN(4) == 0 {
		h.says(t)
	}
	return true
}

// some returns a piece of the noise.
func (c *crowd) some(size int) []byte {
	return c.noise[c.rng.IntN(len(c.noise)-size+1):][:size:size]
}

// hand posts a task.
func (h *half) hand(t *task) {
	t.posted = true
	done, err := h.port.PostSend(&t.Descriptor)
	if errors.Is(err, nic.ErrNotConnected) {
		require.True(h.c.t, h.cut || h.peer.left, "%v", h)
		return // its events come with the next Poll
	}
	require.NoError(h.c.t, err)
	if t.slot != nil {
		t.slot.pending++
	}
	if t.Op == nic.OpRDMAWrite {
		h.writes = append(h.writes, t)
	}
	if t.place >= 0 {
		h.said, h.writes = append(h.said, t), nil
	}
	if !done {
		h.sends = append(h.sends, t)
		return
	}
	require.Equal(h.c.t, nic.StatusSuccess, t.Status)
	h.back(t)
}

// windUp waits until all operations have ended, and checks that nothing is left.
func (c *crowd) windUp() {
	c.w.Sim.After(0, func() { c.w.Net.HealAll() })
	c.until(4*crowdGiveUp+time.Minute, "everything is done", func() bool {
		for _, h := range c.live() {
			if !h.quiet() {
				return false
			}
		}
		return true
	})
	for _, h := range c.live() {
		if h.dialed == (c.rng.IntN(4) > 0) {
			h.leave()
		} else if h.peer != nil && !h.peer.over {
			h.peer.leave()
		}
	}
	c.until(4*crowdGiveUp, "the end of all connections", func() bool { return len(c.live()) == 0 })
	for _, m := range c.machines {
		c.until(udp.LeaveTimeout+time.Second, "nothing is left", func() bool { return m.dev.LeftBehind() == "" })
	}
	for _, h := range c.halves {
		if !h.cut && h.peer != nil && !h.left && !h.peer.left {
			require.Fail(c.t, "it ended by itself", "%v", h)
		}
		h.untouched()
	}
}
