package vipltest

import (
	"encoding/binary"
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

const (
	slots     = 8 // receives and sends in flight at a time
	slotBytes = 1024
	// recvOffset keeps the receives of one direction apart from the sends of
	// the other.
	recvOffset = memBytes / 2
)

// An exchange is a stream of numbered messages from one side to the other, with
// as many under way as there are receives posted, and the checkers over it.
type exchange struct {
	p        *pair
	from, to *side

	next     uint64 // number of the next message
	posted   int    // receives posted and not completed
	flying   int    // messages sent and not received; ≤ posted, so none finds no receive
	free     []*vipl.Descriptor
	idle     []*vipl.Descriptor // receives to post
	once     sim.ExactlyOnce[uint64]
	order    sim.InOrder[string]
	credits  sim.Credits
	lossy    bool // messages may be lost and overtake each other
	received int
}

// newExchange uses the first half of the sender's memory and the second half of
// the receiver's, so that two exchanges may run against each other.
func newExchange(p *pair, from, to *side) *exchange {
	x := &exchange{p: p, from: from, to: to, credits: sim.Credits{Total: slots}}
	for i := range slots {
		x.free = append(x.free, vipl.FillSend(&vipl.Descriptor{Cookie: x}, from.mem.Segment(i*slotBytes, slotBytes)))
		x.idle = append(x.idle, vipl.FillRecv(&vipl.Descriptor{Cookie: x}, to.mem.Segment(recvOffset+i*slotBytes, slotBytes)))
	}
	return x
}

// advance posts what can be posted and looks at what came back.
func (x *exchange) advance(limit int) {
	x.take()
	for len(x.idle) > 0 && x.post(x.to.vi.PostRecv(x.idle[0])) {
		x.idle = x.idle[1:]
		x.posted++
	}
	for x.next < uint64(limit) && len(x.free) > 0 && (x.flying < x.posted || x.lossy) && x.sendOne() {
	}
	require.NoError(x.p, x.credits.Check(x.posted, len(x.idle)))
}

func (x *exchange) post(err error) bool {
	if !errors.Is(err, nic.ErrAgain) {
		require.NoError(x.p, err)
	}
	return err == nil
}

func (x *exchange) sendOne() bool {
	d := x.free[0]
	size := 8 + x.p.rng.IntN(min(slotBytes, x.from.n.Caps().MTUBytes)-8)
	mem := x.from.mem.Data[slotOf(x.from, d):][:size]
	pattern(mem, int(x.next))
	binary.LittleEndian.PutUint64(mem, x.next)
	d.Segments[0].Data = mem
	d.Status = nic.StatusPending
	done, err := x.from.vi.PostSend(d)
	if !x.post(err) {
		return false
	}
	x.once.Sent(x.next)
	x.next++
	x.flying++
	x.free = x.free[1:]
	if done {
		require.Equal(x.p, nic.StatusSuccess, d.Status)
		// The buffer is ours again at once; using it proves that it is.
		pattern(mem, -1)
		x.free = append(x.free, d)
	}
	return true
}

// slotOf is the offset of the slot that a send descriptor uses.
func slotOf(sd *side, d *vipl.Descriptor) int {
	return int(vipl.AddrOf(d.Segments[0].Data) - vipl.AddrOf(sd.mem.Data))
}

// take handles the completions of this exchange and leaves others alone.
func (x *exchange) take() {
	x.from.got = x.filter(x.from.got, vipl.QueueSend, func(d *vipl.Descriptor) {
		require.Equal(x.p, nic.StatusSuccess, d.Status)
		pattern(d.Segments[0].Data, -1)
		x.free = append(x.free, d)
	})
	x.to.got = x.filter(x.to.got, vipl.QueueRecv, x.arrived)
}

func (x *exchange) arrived(d *vipl.Descriptor) {
	require.Equal(x.p, nic.StatusSuccess, d.Status)
	data := payload(d)
	require.GreaterOrEqual(x.p, len(data), 8)
	number := binary.LittleEndian.Uint64(data)
	want := patterned(len(data), int(number))
	binary.LittleEndian.PutUint64(want, number)
	require.Equal(x.p, want, data, "message %d", number)
	require.NoError(x.p, x.once.Delivered(number))
	if !x.lossy {
		require.NoError(x.p, x.order.Delivered("messages", number))
	}
	x.posted--
	x.flying--
	x.received++
	x.idle = append(x.idle, vipl.FillRecv(d, d.Segments...))
}

func (x *exchange) filter(got []vipl.Completion, q vipl.Queue, use func(*vipl.Descriptor)) (rest []vipl.Completion) {
	for _, c := range got {
		if c.Desc.Cookie == x && c.Queue == q {
			use(c.Desc)
		} else {
			rest = append(rest, c)
		}
	}
	return rest
}

func (x *exchange) done(limit int) bool {
	return x.next == uint64(limit) && len(x.free) == slots && (x.lossy || x.once.Missing() == 0)
}

func (x *exchange) check() {
	if !x.lossy {
		require.NoError(x.p, x.once.Check())
	}
}
