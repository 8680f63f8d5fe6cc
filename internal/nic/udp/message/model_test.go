package message

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A model knows what each side posted, and so what must be returned.
type model struct {
	*pair
	flushed bool
	sides   [2]modelSide
}

type modelSide struct {
	sends, recvs []*nic.Descriptor // posted and not back, oldest first
	log          []sent            // messages that take a receive of the other side
	received     int               // messages of the other side's log that arrived
	posted       int               // receives, ever
	writes       int               // bytes of the other side's region used
	checks       []func()          // of writes, at the end
	left         bool
}

// A sent is a message that the other side must receive.
type sent struct {
	data      []byte
	length    int
	immediate uint32
	has       bool
}

const readable = 1 << 20 // the region from here on is never written

func newModel(t *testing.T, seed uint64) *model {
	level := nic.Reliability(seed % 3)
	m := &model{pair: newPair(t, seed, nic.PortAttrs{Reliability: level, RecvDepth: 40, SendDepth: 30})}
	for i, side := range m.pair.sides {
		side.mem.region = make([]byte, 4<<20)
		copy(side.mem.region[readable:], noise(m.rng, 1<<17))
		if seed%2 == 0 { // all numbers wrap soon
			other := m.pair.sides[1-i].q
			side.q.number, other.next = 0xffffffe0, 0xffffffe0
			side.q.takes, other.recvs.done, other.recvs.posted = 0xfffffff0, 0xfffffff0, 0xfffffff0
		}
	}
	return m
}

func (m *model) post(i int) {
	q, own, other := m.pair.sides[i].q, &m.sides[i], &m.sides[1-i]
	rng := m.rng
	size := []int{0, rng.IntN(60), rng.IntN(200), rng.IntN(testLimits.MTUBytes + 1)}[rng.IntN(4)]
	d := &nic.Descriptor{Op: nic.Op(rng.IntN(4)), Immediate: rng.Uint32()}
	if rng.IntN(3) == 0 {
		d.Flags = nic.FlagImmediate
	}
	if d.Op == nic.OpRecv {
		d.Flags, d.Immediate = nic.Flags(rng.IntN(2))*nic.FlagLoan, 0
		if d.Flags == 0 || rng.IntN(2) == 0 {
			d.Segments = cut(rng, make([]byte, testLimits.MTUBytes))
		}
		if err := q.PostRecv(d); err != nil {
			require.ErrorIs(m, err, nic.ErrAgain)
			require.GreaterOrEqual(m, len(own.recvs), 40)
			return
		}
		own.recvs = append(own.recvs, d)
		own.posted++
		return
	}
	takes := d.Op == nic.OpSend || d.Op == nic.OpRDMAWrite && d.Flags != 0
	if takes && len(own.log) >= other.posted || d.Op == nic.OpRDMARead && q.attrs.Reliability == nic.Unreliable {
		return
	}
	data := noise(rng, size)
	d.Segments = cut(rng, append([]byte(nil), data...))
	region := m.pair.sides[1-i].mem.region
	if d.Op != nic.OpSend {
		off := own.writes
		if d.Op == nic.OpRDMARead {
			off = readable + rng.IntN(1<<16)
		}
		d.Remote = nic.Remote{Addr: regionAddr + uint64(off), Handle: regionHandle}
		d.Cookie = region[off : off+size]
	}
	done, err := q.PostSend(d)
	if err != nil {
		require.ErrorIs(m, err, nic.ErrAgain)
		require.GreaterOrEqual(m, len(own.sends), 30)
		return
	}
	if d.Op == nic.OpRDMAWrite {
		own.writes += size
		region := d.Cookie.([]byte)
		own.checks = append(own.checks, func() { require.Equal(m, data, region) })
	}
	if takes {
		s := sent{data: data, length: size, has: d.Flags != 0}
		if s.has {
			s.immediate = d.Immediate
		}
		if d.Op != nic.OpSend {
			s.data = nil
		}
		own.log = append(own.log, s)
	}
	if !done {
		own.sends = append(own.sends, d)
		return
	}
	require.Equal(m, nic.StatusSuccess, d.Status)
	require.Equal(m, size, d.Length)
	for _, s := range d.Segments {
		clear(s.Data) // it is ours again
	}
}

// collect checks the descriptors returned on a side.
func (m *model) collect(i int) {
	own := &m.sides[i]
	for _, d := range m.all(i) {
		queue := &own.sends
		if d.Op == nic.OpRecv {
			queue = &own.recvs
		}
		require.NotEmpty(m, *queue, "it was back already")
		require.Same(m, (*queue)[0], d, "in the order of the posts")
		*queue = (*queue)[1:]
		if d.Status == nic.StatusFlushed && m.flushed {
			require.Zero(m, d.Length)
			continue
		}
		require.Equal(m, nic.StatusSuccess, d.Status)
		switch d.Op {
		case nic.OpRecv:
			m.checkRecv(i, d)
		case nic.OpRDMAWrite, nic.OpRDMARead:
			require.Equal(m, d.Cookie, append([]byte{}, join(d.Segments)...))
			fallthrough
		default:
			require.Len(m, join(d.Segments), d.Length)
		}
	}
}

func (m *model) checkRecv(i int, d *nic.Descriptor) {
	own, log := &m.sides[i], m.sides[1-i].log
	require.Less(m, own.received, len(log), "more than was sent")
	want := log[own.received]
	own.received++
	require.Equal(m, want.length, d.Length)
	require.Equal(m, want.has, d.Flags&nic.FlagImmediate != 0)
	require.Equal(m, want.immediate, d.Immediate)
	got := d.Data
	if d.Data == nil {
		got = join(d.Segments)[:len(want.data)]
	}
	require.Equal(m, string(want.data), string(got))
	if m.rng.IntN(3) == 0 && !m.flushed { // posting it again returns what it has on loan
		d.Flags, d.Data = d.Flags&nic.FlagLoan, nil
		if m.pair.sides[i].q.PostRecv(d) == nil {
			own.recvs = append(own.recvs, d)
			own.posted++
		}
	}
}

// step does a random thing; posting is less likely than moving.
func (m *model) step(posting bool) {
	rng, i := m.rng, m.rng.IntN(2)
	switch k := rng.IntN(12); {
	case k < 3 && posting:
		m.post(i)
	case k < 6:
		m.emit(i, rng.IntN(Lanes), 1+rng.IntN([]int{3000, 1200, 100}[rng.IntN(3)]))
	case k < 9 && len(m.flights) > 0:
		m.pair.sides[0].denied, m.pair.sides[1].denied = rng.IntN(4) == 0, rng.IntN(4) == 0
		m.land(rng.IntN(len(m.flights)), rng.IntN(2) == 0)
	case k < 11 && len(m.acks) > 0:
		m.ack(rng.IntN(len(m.acks)))
	default:
		m.collect(i)
	}
	for j, side := range m.pair.sides {
		if !m.flushed {
			require.NoError(m, side.q.Err())
		} else if side.q.Err() != nil && !m.sides[j].left {
			m.sides[j].left = true
			require.ErrorIs(m, side.q.Err(), nic.ErrClosed)
			side.q.Flush(nic.StatusFlushed)
		}
	}
}

// TestModel: for any posts and any order of arrival, each descriptor comes back once, in order,
// with the right bytes.
func TestModel(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		m := newModel(t, seed)
		for range 20000 {
			m.step(true)
		}
		for range 200000 {
			m.step(false)
			if len(m.sides[0].sends)+len(m.sides[1].sends) == 0 && m.sides[0].received == len(m.sides[1].log) && m.sides[1].received == len(m.sides[0].log) {
				break
			}
		}
		for i := range m.sides {
			own := &m.sides[i]
			require.Empty(t, own.sends)
			require.Greater(t, len(own.log), 100, "something was sent")
			require.Len(t, own.log, m.sides[1-i].received)
			for _, check := range own.checks {
				check()
			}
		}
		m.finish()
	})
}

// finish ends both sides: all descriptors come back, and nothing is left.
func (m *model) finish() {
	m.flushed = true
	for i, side := range m.pair.sides {
		side.q.Flush(nic.StatusFlushed)
		m.collect(i)
		require.Empty(m, m.sides[i].sends)
		require.Empty(m, m.sides[i].recvs)
		side.q.Close()
		require.Zero(m, side.q.islands)
		require.Zero(m, side.q.ahead)
		for _, l := range side.lent {
			require.Zero(m, l.holds, "a loan was not given back")
		}
	}
}

// TestModelLeave: one side leaves in the middle. The other side gets the messages
// done before, in order and complete, up to the first cancelled one.
func TestModelLeave(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		m := newModel(t, seed)
		for range 500 + m.rng.IntN(5000) {
			m.step(true)
		}
		who := m.rng.IntN(2)
		q := m.pair.sides[who].q
		m.collect(0)
		m.collect(1)
		m.flushed = true
		q.Leave()
		m.sides[who].left = true
		m.collect(who)
		require.Empty(t, m.sides[who].sends)
		require.Empty(t, m.sides[who].recvs)
		for range 200000 {
			m.step(false)
			if q.Left() && m.sides[1-who].left {
				break
			}
		}
		require.True(t, q.Left())
		require.True(t, m.sides[1-who].left, "the other side heard of it")
		m.collect(1 - who)
		if q.cutOff == q.number {
			require.Len(t, m.sides[who].log, m.sides[1-who].received)
		}
		m.finish()
	})
}
