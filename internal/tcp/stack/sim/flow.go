package simstack

import (
	"bytes"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// A flow is one direction of a connection. Bytes go from the send buffer (unsent
// and unacknowledged bytes) over the link (flight) into the receive buffer
// (inbox), always in order. Faults of the link only cost time.
type flow struct {
	from, to *Stream

	unsent  []byte
	unacked int // bytes taken that the sender does not know to have arrived
	window  int // free bytes in the receive buffer, as the sender knows them
	finish  bool
	// finSent, finArrived: the end of the flow has been sent, and has arrived.
	finSent, finArrived bool

	flight   []segment
	last     time.Duration // when the latest of them arrives
	timer    *sim.Event    // arrival of the first of them
	attempts int           // how often the first was lost
	since    time.Duration // when it was first lost

	inbox         []byte
	arrived, read int        // since the last report
	report        *sim.Event // on its way back to the sender
	dead          bool
}

// A segment is the unit that travels.
type segment struct {
	data   []byte
	fin    bool
	arrive time.Duration
}

// join makes a connection of two streams.
func join(a, b *Stream) {
	n := a.host.n
	ab := &flow{from: a, to: b, window: n.opts.RecvBytesMax}
	ba := &flow{from: b, to: a, window: n.opts.RecvBytesMax}
	a.peer, a.out, a.in = b, ab, ba
	b.peer, b.out, b.in = a, ba, ab
}

func (f *flow) net() *Network { return f.from.host.n }

// room is how many bytes the send buffer takes.
func (f *flow) room() int { return f.net().opts.SendBytesMax - f.unacked }

// readable reports whether a Recv has an answer.
func (f *flow) readable() bool { return f != nil && (len(f.inbox) > 0 || f.finArrived) }

// put takes bytes into the send buffer.
func (f *flow) put(p []byte) {
	f.unsent = append(f.unsent, p...)
	f.unacked += len(p)
}

// push sends what the receiver has room for.
func (f *flow) push() {
	if f.dead {
		return
	}
	for len(f.unsent) > 0 && f.window > 0 {
		k := min(f.size(), len(f.unsent), f.window)
		f.depart(segment{data: bytes.Clone(f.unsent[:k])})
		f.unsent = f.unsent[k:]
		f.window -= k
	}
	if f.finish && !f.finSent && len(f.unsent) == 0 {
		f.finSent = true
		f.depart(segment{fin: true})
	}
	f.arm()
}

// size draws the size of a segment; every order of magnitude is equally likely.
func (f *flow) size() int {
	n := f.net()
	most := n.opts.SegmentBytesMax
	for most > 1 && n.sim.Rand().IntN(4) == 0 {
		most /= 8
	}
	if most <= 1 {
		return 1
	}
	return 1 + n.sim.Rand().IntN(most)
}

func (f *flow) depart(seg segment) {
	n := f.net()
	f.last = max(f.last, n.sim.Now()+n.delay(f.from.host, f.to.host))
	seg.arrive = f.last
	f.flight = append(f.flight, seg)
}

func (f *flow) arm() {
	if f.timer == nil && !f.dead && len(f.flight) > 0 {
		f.timer = f.net().sim.At(f.flight[0].arrive, f.arrival)
	}
}

// arrival is called when the first segment reaches the other host, if it can.
func (f *flow) arrival() {
	f.timer = nil
	n := f.net()
	if !n.reaches(f.from.host, f.to.host) {
		f.lost()
		return
	}
	f.attempts = 0
	seg := f.flight[0]
	if f.to.deaf(seg) {
		n.trace("%s is sent a reset by %s", f.from, f.to)
		f.kill()
		n.resetSoon(f.from)
		f.to.silence(errClosed)
		return
	}
	f.flight = f.flight[1:]
	if n.sim.Chance(n.opts.Reset) {
		n.trace("%s is reset", f.from)
		n.resetSoon(f.from)
		n.resetSoon(f.to)
	}
	f.deliver(seg)
	f.arm()
}

func (f *flow) deliver(seg segment) {
	n := f.net()
	if seg.fin {
		f.finArrived = true
		n.trace("%s to %s: the end", f.from, f.to)
		f.to.hangup()
		f.from.lingered()
		return
	}
	if n.sim.Chance(n.opts.Corrupt) {
		n.trace("%s to %s: corrupt", f.from, f.to)
		seg.data[n.sim.Rand().IntN(len(seg.data))] ^= 1 << n.sim.Rand().IntN(8)
	}
	n.trace("%s to %s: %d bytes", f.from, f.to, len(seg.data))
	f.inbox = append(f.inbox, seg.data...)
	f.arrived += len(seg.data)
	f.to.arrival()
	f.answer(0)
}

// lost sends the first segment again, until that has taken too long.
func (f *flow) lost() {
	n := f.net()
	if f.attempts == 0 {
		f.since = n.sim.Now()
	}
	if n.tooLong(f.since) {
		f.from.broke(errTimeout)
		return
	}
	f.timer = n.sim.After(n.backoff(f.attempts), f.arrival)
	f.attempts++
}

// tooLong reports whether a stack gives up attempts that began at the given time.
func (n *Network) tooLong(since time.Duration) bool {
	return n.opts.KeepAlive > 0 && n.sim.Now()-since >= n.opts.KeepAlive
}

// answer informs the sender how many bytes have arrived and been read. One answer at a time is
// under way; it carries the state at the time when it arrives.
func (f *flow) answer(attempt int) {
	n := f.net()
	if f.report != nil || f.dead {
		return
	}
	since := n.sim.Now()
	f.report = n.sim.After(n.delay(f.to.host, f.from.host), func() { f.heard(attempt, since) })
}

func (f *flow) heard(attempt int, since time.Duration) {
	n := f.net()
	f.report = nil
	switch {
	case f.dead || f.to.err == errCrashed:
	case n.reaches(f.to.host, f.from.host) && f.to.host.up:
		f.unacked -= f.arrived
		f.window += f.read
		f.arrived, f.read = 0, 0
		f.from.writable()
		f.push()
	case n.tooLong(since) && f.unacked > 0:
		f.from.broke(errTimeout)
	case n.tooLong(since):
		// The sender waits for nothing: its keep-alive will notice.
	default:
		f.report = n.sim.After(n.backoff(attempt), func() { f.heard(attempt+1, since) })
	}
}

// take moves bytes from the receive buffer to the owner's buffers.
func (f *flow) take(bufs [][]byte, most int) (n int) {
	for _, b := range bufs {
		k := copy(b, f.inbox[:min(len(f.inbox), most-n)])
		f.inbox = f.inbox[k:]
		n += k
	}
	f.read += n
	f.answer(0)
	return n
}

// kill discards the bytes under way and those still to be sent.
func (f *flow) kill() {
	if f == nil || f.dead {
		return
	}
	f.dead = true
	f.unsent, f.flight = nil, nil
	f.net().sim.Cancel(f.timer)
	f.net().sim.Cancel(f.report)
	f.timer, f.report = nil, nil
}
