package message

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// testLimits are small, so that all limits are reached soon.
var testLimits = Limits{MTUBytes: 3000, RDMABytesMax: 1 << 16, SegmentsMax: 4, PriorityBytes: 200, CopyBytes: 600, InlineBytesMax: nic.InlineMax}

// A testMemory has one region, at an address of its own, under handle 7. Handle 9
// is local memory alone.
type testMemory struct {
	region []byte
	closed bool
}

const (
	regionAddr   = 1 << 40
	regionHandle = 7
	localHandle  = 9
)

func (m *testMemory) Covers(s nic.Segment) bool { return s.Handle == localHandle }

func (m *testMemory) Writable(addr uint64, h nic.Handle, n int) ([]byte, bool) {
	off := addr - regionAddr
	if m.closed || h != regionHandle || addr < regionAddr || off > uint64(len(m.region)) || uint64(n) > uint64(len(m.region))-off {
		return nil, false
	}
	return m.region[off : off+uint64(n)], true
}

func (m *testMemory) Readable(addr uint64, h nic.Handle, n int) ([]byte, bool) {
	return m.Writable(addr, h, n)
}

// A testLoan counts the holds on a buffer.
type testLoan struct {
	t     testing.TB
	mem   []byte
	holds int
}

func (l *testLoan) Hold() { l.holds++ }

func (l *testLoan) Free() {
	l.holds--
	require.GreaterOrEqual(l.t, l.holds, 0, "freed once too often")
	if l.holds == 0 {
		for i := range l.mem {
			l.mem[i] = 0xdb // a later reader notices
		}
	}
}

// A flight is a segment under way.
type flight struct {
	from, lane int
	seg        Segment
	bytes      []byte
}

// A party is one side of the connection under test.
type party struct {
	q      *Queue
	mem    *testMemory
	lent   []*testLoan
	denied bool // no device buffers now
}

func (p *party) Take(n int) ([]byte, Loan, bool) {
	if p.denied {
		return nil, nil, false
	}
	l := p.loan(make([]byte, n))
	l.holds = 1
	return l.mem, l, true
}

// A pair is two Queues and a channel between them that shuffles.
type pair struct {
	testing.TB
	rng     *rand.Rand
	sides   [2]*party
	flights []flight
	acks    []flight
}

func newPair(t testing.TB, seed uint64, attrs nic.PortAttrs) *pair {
	p := &pair{TB: t, rng: rand.New(rand.NewPCG(seed, 0x3e55))}
	pool := NewPool()
	for i := range p.sides {
		side := &party{mem: &testMemory{region: make([]byte, 1<<17)}}
		side.q = New(Config{Attrs: attrs, Limits: testLimits, Memory: side.mem, Buffers: side, Pool: pool})
		p.sides[i] = side
	}
	return p
}

func plainPair(t testing.TB, level nic.Reliability) *pair {
	return newPair(t, 1, nic.PortAttrs{Reliability: level, RecvDepth: 64, SendDepth: 64})
}

func (p *party) loan(mem []byte) *testLoan {
	l := &testLoan{mem: mem}
	p.lent = append(p.lent, l)
	return l
}

// emit sends the next segment of a lane.
func (p *pair) emit(i, lane, room int) bool {
	s, ok := p.sides[i].q.Next(lane, room)
	if ok {
		p.put(flight{from: i, lane: lane, seg: s})
	}
	return ok
}

func (p *pair) put(f flight) {
	head, pieces := p.sides[f.from].q.Append(nil, nil, &f.seg)
	for _, b := range pieces {
		head = append(head, b...)
	}
	require.Len(p, head, f.seg.Len())
	f.bytes = head
	p.flights = append(p.flights, f)
}

// land delivers flight number k. A segment that is not taken is sent again.
func (p *pair) land(k int, lend bool) bool {
	f := p.flights[k]
	p.flights[k] = p.flights[len(p.flights)-1]
	p.flights = p.flights[:len(p.flights)-1]
	to := p.sides[1-f.from]
	var s wire.Segment
	data, _, err := wire.ParseSegment(f.bytes, &s)
	require.NoError(p, err)
	var loan Loan
	var l *testLoan
	if lend {
		l = to.loan(f.bytes)
		l.t, l.holds = p, 1
		loan = l
	}
	taken, _ := to.q.Arrived(&s, data, loan)
	if l != nil {
		l.Free()
	}
	if taken {
		p.acks = append(p.acks, f)
		return true
	}
	if p.rng.IntN(3) == 0 {
		p.sides[f.from].q.Fit(f.lane, &f.seg, 1+p.rng.IntN(500))
	}
	p.put(f)
	return false
}

func (p *pair) ack(k int) {
	f := p.acks[k]
	p.acks[k] = p.acks[len(p.acks)-1]
	p.acks = p.acks[:len(p.acks)-1]
	p.sides[f.from].q.Acked(&f.seg)
}

// run moves everything that can, in order, until nothing does.
func (p *pair) run() {
	for moved := true; moved; {
		moved = false
		for i := range p.sides {
			for lane := range Lanes {
				for p.emit(i, lane, 1000) {
					moved = true
				}
			}
		}
		for range len(p.flights) {
			f := p.flights[0] // land moves another one to its place
			moved = p.land(0, false) || moved
			_ = f
		}
		for len(p.acks) > 0 {
			p.ack(0)
			moved = true
		}
	}
}

// all takes the descriptors returned on a side.
func (p *pair) all(i int) (got []*nic.Descriptor) {
	for d := p.sides[i].q.Completed(); d != nil; d = p.sides[i].q.Completed() {
		got = append(got, d)
	}
	return got
}

// cut makes segments of a buffer.
func cut(rng *rand.Rand, b []byte) (segs []nic.Segment) {
	for range 1 + rng.IntN(3) {
		n := rng.IntN(len(b) + 1)
		segs = append(segs, nic.Segment{Data: b[:n:n], Handle: localHandle})
		b = b[n:]
	}
	return append(segs, nic.Segment{Data: b})
}

func join(segs []nic.Segment) (b []byte) {
	for _, s := range segs {
		b = append(b, s.Data...)
	}
	return b
}

func send(b []byte) *nic.Descriptor {
	return &nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: b}}}
}

func recv(b []byte) *nic.Descriptor {
	return &nic.Descriptor{Op: nic.OpRecv, Segments: []nic.Segment{{Data: b}}}
}

func lentRecv() *nic.Descriptor { return &nic.Descriptor{Op: nic.OpRecv, Flags: nic.FlagLoan} }

func rdma(op nic.Op, off int, b []byte) *nic.Descriptor {
	return &nic.Descriptor{Op: op, Remote: nic.Remote{Addr: regionAddr + uint64(off), Handle: regionHandle}, Segments: []nic.Segment{{Data: b}}}
}

func noise(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
