package message

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestLies: a segment that no correct side sends ends the connection, and the other
// side gets the reason.
func TestLies(t *testing.T) {
	part := wire.Segment{Kind: wire.SegmentSend, Total: 100}
	change := func(fn func(s *wire.Segment)) []wire.Segment {
		s := part
		fn(&s)
		return []wire.Segment{part, s}
	}
	for name, segments := range map[string][]wire.Segment{
		"another total":            change(func(s *wire.Segment) { s.Total++ }),
		"another kind":             change(func(s *wire.Segment) { s.Kind = wire.SegmentReadRequest }),
		"another receive":          change(func(s *wire.Segment) { s.Recv++ }),
		"other immediate data":     change(func(s *wire.Segment) { s.HasImmediate = true }),
		"a number far ahead":       {{Kind: wire.SegmentSend, Number: 2 * WindowMessages}},
		"a receive far ahead":      {{Kind: wire.SegmentSend, Number: 3, Recv: 4}},
		"a receive out of turn":    {{Kind: wire.SegmentSend, Recv: 1}},
		"a receive taken before":   {{Kind: wire.SegmentSend}, {Kind: wire.SegmentSend, Number: 1}},
		"a receive taken twice":    {{Kind: wire.SegmentSend, Number: 1}, {Kind: wire.SegmentSend}},
		"read data for nobody":     {{Kind: wire.SegmentReadData, Number: 5}},
		"a refusal for nobody":     {{Kind: wire.SegmentReadRefused, Number: 5}},
		"read data of another sum": {{Kind: wire.SegmentReadData, Number: 0, Total: 9}},
		"a farewell far ahead":     {{Kind: wire.SegmentBye, Number: 2 * WindowMessages}},
		"two farewells":            {{Kind: wire.SegmentBye, Number: 7}, {Kind: wire.SegmentBye, Number: 8}},
	} {
		t.Run(name, func(t *testing.T) {
			p := plainPair(t, nic.ReliableDelivery)
			q := p.sides[0].q
			for range 4 {
				require.NoError(t, q.PostRecv(recv(make([]byte, 200))))
			}
			read := p.post(rdma(nic.OpRDMARead, 0, make([]byte, 10)))
			p.emit(0, LanePriority, 100)
			p.flights = nil
			var err error
			for i := range segments {
				require.NoError(t, err, "segment %d is not the lie", i-1)
				_, err = q.Arrived(&segments[i], make([]byte, min(segments[i].Total, 10)), nil)
			}
			require.ErrorIs(t, err, nic.ErrProtocol)
			assert.Equal(t, uint64(1), q.Stats().ProtocolErrors)
			q.Flush(nic.StatusFlushed)
			assert.Equal(t, nic.StatusFlushed, read.Status)
			p.run()
			require.ErrorIs(t, p.sides[1].q.Err(), nic.ErrProtocol)
			assert.True(t, q.Left())
		})
	}
}

// TestReadsNotSentYet: an answer to a read that was not sent yet is an error, too.
func TestReadsNotSentYet(t *testing.T) {
	for _, s := range []wire.Segment{{Kind: wire.SegmentReadData, Total: 10}, {Kind: wire.SegmentReadRefused}} {
		p := plainPair(t, nic.ReliableDelivery)
		p.post(rdma(nic.OpRDMARead, 0, make([]byte, 10)))
		_, err := p.sides[0].q.Arrived(&s, make([]byte, s.Total), nil)
		require.ErrorIs(t, err, nic.ErrProtocol)
	}
}

// TestNotTaken: a segment without room is retransmitted, and has no other effect.
func TestNotTaken(t *testing.T) {
	p := plainPair(t, nic.ReliableDelivery)
	q := p.sides[0].q
	for name, s := range map[string]wire.Segment{
		"beyond the window":           {Kind: wire.SegmentSend, Number: WindowMessages},
		"a send without a receive":    {Kind: wire.SegmentSend, Number: 1},
		"a write without a receive":   {Kind: wire.SegmentWrite, Number: 1, HasImmediate: true, Addr: regionAddr, Handle: regionHandle},
		"a write into foreign memory": {Kind: wire.SegmentWrite, Number: 1, Total: 1 << 31, Addr: regionAddr, Handle: regionHandle},
	} {
		taken, err := q.Arrived(&s, make([]byte, min(s.Total, 1)), nil)
		require.NoError(t, err, name)
		assert.False(t, taken, name)
		assert.Zero(t, q.ahead, name)
	}
	assert.Equal(t, uint64(4), q.Stats().Refused)

	// Islands, one byte in two of a message, end at their limit.
	for i := range uint32(IslandsMax + 5) {
		s := wire.Segment{Kind: wire.SegmentWrite, Total: 1 << 16, Offset: 1 + 2*i, Addr: regionAddr, Handle: regionHandle}
		taken, err := q.Arrived(&s, []byte{1}, nil)
		require.NoError(t, err)
		assert.Equal(t, i < IslandsMax, taken, i)
	}
	assert.Equal(t, IslandsMax, q.islands)
	whole := wire.Segment{Kind: wire.SegmentWrite, Total: 1 << 16, Addr: regionAddr, Handle: regionHandle}
	taken, err := q.Arrived(&whole, make([]byte, 1<<16), nil)
	require.NoError(t, err)
	assert.True(t, taken, "the rest, and all again")
	assert.Zero(t, q.islands)
	assert.Equal(t, uint32(1), q.next)
	whole.Number, whole.Total = 1, 0
	whole.Addr, whole.Handle = 5, 5
	_, err = q.Arrived(&whole, nil, nil)
	require.ErrorIs(t, err, nic.ErrProtocol, "also an empty write needs a place")
}

// TestStale: a segment that was cut in two may arrive whole, and its second half
// after the message is complete.
func TestStale(t *testing.T) {
	p := plainPair(t, nic.ReliableDelivery)
	q := p.sides[0].q
	require.NoError(t, q.PostRecv(recv(make([]byte, 8))))
	s := wire.Segment{Kind: wire.SegmentSend, Total: 8, Offset: 0}
	for range 3 {
		taken, err := q.Arrived(&s, []byte("abcdefgh"), nil)
		require.NoError(t, err)
		assert.True(t, taken)
	}
	assert.Equal(t, uint64(2), q.Stats().Stale)
	assert.Len(t, p.all(0), 1)
}

// TestUnknownReason: a reason of a later release also ends the connection.
func TestUnknownReason(t *testing.T) {
	for _, number := range []uint32{0, 1, 5, 1 << 31} {
		p := plainPair(t, nic.ReliableReception)
		d := p.post(send(nil))
		_, err := p.sides[0].q.Arrived(&wire.Segment{Kind: wire.SegmentBye, HasImmediate: true, Number: number, Immediate: 99}, nil, nil)
		require.ErrorIs(t, err, nic.ErrProtocol)
		p.sides[0].q.Leave()
		want := map[uint32]nic.Status{0: nic.StatusTransportError, 1: nic.StatusSuccess}[number]
		if number > 1 {
			want = nic.StatusFlushed
		}
		assert.Equal(t, want, d.Status, number)
		assert.Len(t, p.all(0), 1)
	}
}

// victim is a Queue with something of every kind under way.
func victim(t testing.TB) *pair {
	p := newPair(t, 1, nic.PortAttrs{Reliability: nic.ReliableDelivery, RecvDepth: 16, SendDepth: 16})
	for i := range p.sides {
		q := p.sides[i].q
		for k := range 12 {
			d := lentRecv()
			if k%2 == 0 {
				d = recv(make([]byte, 3000))
			}
			require.NoError(t, q.PostRecv(d))
		}
		for _, d := range []*nic.Descriptor{
			send([]byte("small")), send(make([]byte, 2500)), rdma(nic.OpRDMAWrite, 0, make([]byte, 2500)),
			rdma(nic.OpRDMARead, 100, make([]byte, 2500)), send(make([]byte, 90)), rdma(nic.OpRDMARead, 5000, make([]byte, 10)),
		} {
			_, err := q.PostSend(d)
			require.NoError(t, err)
		}
	}
	return p
}

// sound checks the invariants.
func (p *pair) sound() {
	for _, side := range p.sides {
		q := side.q
		require.LessOrEqual(p, q.islands, IslandsMax)
		require.LessOrEqual(p, len(q.ring), WindowMessages)
		require.LessOrEqual(p, q.owing, AnswersMax)
		require.LessOrEqual(p, q.recvs.count(), 16)
	}
}

// over ends a pair: every posted descriptor must be back, once.
func (p *pair) over() {
	for i, side := range p.sides {
		posted := side.q.posted + side.q.Receives()
		before := len(p.all(i))
		side.q.Flush(nic.StatusFlushed)
		require.Len(p, p.all(i), posted)
		require.LessOrEqual(p, before+posted, 12+6)
		side.q.Close()
		require.Zero(p, side.q.islands)
		for _, l := range side.lent {
			require.Zero(p, l.holds)
		}
	}
}

// TestMutated: segments of a real exchange with a few bytes changed.
func TestMutated(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		for round := range uint64(200) {
			p := victim(t)
			p.rng.Uint64()
			p.rng = newPair(t, seed*1000+round, nic.PortAttrs{RecvDepth: 1, SendDepth: 1}).rng
			for range 150 {
				i := p.rng.IntN(2)
				p.emit(i, p.rng.IntN(Lanes), 1+p.rng.IntN(1000))
				if len(p.flights) == 0 {
					continue
				}
				k := p.rng.IntN(len(p.flights))
				if p.rng.IntN(4) == 0 {
					p.forge(p.flights[k])
				} else {
					p.land(k, p.rng.IntN(2) == 0)
				}
				if len(p.acks) > 0 && p.rng.IntN(2) == 0 {
					p.ack(p.rng.IntN(len(p.acks)))
				}
				p.sound()
			}
			p.over()
		}
	})
}

// forge delivers a copy of a segment with changes.
func (p *pair) forge(f flight) {
	b := append([]byte(nil), f.bytes...)
	for range 1 + p.rng.IntN(2) {
		off := []int{0, 1, 4, 8, 12, 16, 20, 24, 32}[p.rng.IntN(9)]
		if off+4 > len(b) {
			continue
		}
		switch old := binary.LittleEndian.Uint32(b[off:]); p.rng.IntN(4) {
		case 0:
			binary.LittleEndian.PutUint32(b[off:], old+uint32(p.rng.IntN(5))-2)
		case 1:
			binary.LittleEndian.PutUint32(b[off:], p.rng.Uint32())
		default:
			b[off] = byte(p.rng.IntN(8))
		}
	}
	p.feed(1-f.from, b)
}

// feed delivers bytes that were never sent: one segment, or several.
func (p *pair) feed(to int, b []byte) {
	var s wire.Segment
	for rest := b; rest != nil; {
		data, next, err := wire.ParseSegment(rest, &s)
		if err != nil {
			return
		}
		_, _ = p.sides[to].q.Arrived(&s, data, nil)
		rest = next
	}
}

// FuzzArrived gives a list of segments, each behind its length, to a Queue in the
// middle of an exchange.
func FuzzArrived(f *testing.F) {
	p := victim(f)
	var all []byte
	for lane := range Lanes {
		for p.emit(1, lane, 200) {
		}
	}
	for _, fl := range p.flights {
		all = append(append(all, byte(len(fl.bytes))), fl.bytes...)
		f.Add(append([]byte{byte(len(fl.bytes))}, fl.bytes...))
	}
	f.Add(all)
	for i, fl := range p.flights[1:] { // two in one packet
		before := p.flights[i].bytes
		both := append(append([]byte{byte(len(before) + len(fl.bytes))}, before...), fl.bytes...)
		wire.JoinSegment(both[1:], p.flights[i].seg.DataLen())
		f.Add(both)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		p := victim(t)
		for lane := range Lanes {
			for p.emit(0, lane, 200) {
			}
		}
		for len(input) > 0 {
			n := min(int(input[0]), len(input)-1)
			p.feed(0, input[1:1+n])
			input = input[1+n:]
			p.sound()
			for p.emit(0, LaneData, 200) || p.emit(0, LanePriority, 200) {
			}
		}
		p.over()
	})
}
