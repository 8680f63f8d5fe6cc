package reliable

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

const us = time.Microsecond

// ack returns a packet with no more than an ack.
func ack(to Seq, ranges ...wire.Range) *wire.Transport {
	t := &wire.Transport{Flags: wire.FlagAck, Ack: uint32(to)}
	t.N = uint8(copy(t.Ranges[:], ranges))
	return t
}

// echoing adds the echo of a packet that was sent at that time.
func echoing(t *wire.Transport, at time.Duration) *wire.Transport {
	t.Flags |= wire.FlagEcho
	t.Echo = stamp(at)
	return t
}

func segment(seq Seq, at time.Duration) *wire.Transport {
	return &wire.Transport{Flags: wire.FlagSegment, Seq: uint32(seq), Stamp: stamp(at)}
}

func nothing(*item) {}

// lostNow returns what the lane wants to send again.
func lostNow(l *Lane[item], now time.Duration) (lost []item) {
	for {
		seq, s, ok := l.Lost(now)
		if !ok {
			return lost
		}
		lost = append(lost, *s)
		l.Resent(now, seq)
	}
}

func sendN(l *Lane[item], now time.Duration, n int) {
	for range n {
		l.Send(now, item(l.next), 100)
	}
}

func TestAGapIsSentAgainAtOnceAndOncePerRoundTrip(t *testing.T) {
	l := New[item](Options{})
	sendN(l, 0, 5)
	require.NoError(t, l.TakeAck(100*us, echoing(ack(1, wire.Range{First: 2, End: 3}), 0), nothing))
	assert.Equal(t, []item{1}, lostNow(l, 100*us))
	assert.Zero(t, l.bytes-400+100, "four are under way, one of them again") // 1, 3, 4
	// The same ack again, and an extended one: nothing new was sent since.
	require.NoError(t, l.TakeAck(101*us, echoing(ack(1, wire.Range{First: 2, End: 5}), 1*us), nothing))
	assert.Empty(t, lostNow(l, 101*us))
	// What was sent after the retransmission arrives: it was lost as well.
	sendN(l, 110*us, 1)
	require.NoError(t, l.TakeAck(210*us, echoing(ack(1, wire.Range{First: 2, End: 6}), 110*us), nothing))
	assert.Equal(t, []item{1}, lostNow(l, 210*us))
	assert.EqualValues(t, 2, l.Stats().Resent)
}

func TestAcksTellEachSegmentOnce(t *testing.T) {
	l := New[item](Options{FirstSend: ^Seq(0)})
	sendN(l, 0, 10) // ^0, 0 … 8
	var got []item
	fn := func(s *item) { got = append(got, *s) }
	for _, a := range []*wire.Transport{
		ack(^Seq(0), wire.Range{First: 1, End: 2}, wire.Range{First: 4, End: 5}),
		ack(^Seq(0), wire.Range{First: 1, End: 3}, wire.Range{First: 4, End: 5}),
		ack(0, wire.Range{First: 1, End: 5}),
		ack(0),
		ack(^Seq(0), wire.Range{First: 6, End: 7}), // overtaken
		ack(0, wire.Range{First: 2, End: 4}, wire.Range{First: 6, End: 7}),
		ack(5, wire.Range{First: 6, End: 9}),
		ack(9),
		ack(9),
	} {
		require.NoError(t, l.TakeAck(us, a, fn))
	}
	last := item(^Seq(0))
	assert.Equal(t, []item{1, 4, 2, last, 3, 6, 0, 7, 8, 5}, got)
	assert.Zero(t, l.outstanding())
}

func TestAcksOfWhatWasNeverSentAreRefused(t *testing.T) {
	l := New[item](Options{})
	sendN(l, 0, 3)
	fn := func(*item) { t.Error("acked") }
	assert.ErrorIs(t, l.TakeAck(us, ack(4), fn), ErrImpossible)
	assert.ErrorIs(t, l.TakeAck(us, ack(0, wire.Range{First: 1, End: 4}), fn), ErrImpossible)
	assert.ErrorIs(t, l.TakeAck(us, ack(0, wire.Range{First: 1, End: 2}, wire.Range{First: 3, End: 4}), fn), ErrImpossible)
	assert.NoError(t, l.TakeAck(us, ack(^Seq(0)), fn), "an old one means nothing")
	assert.NoError(t, l.TakeAck(us, &wire.Transport{Ack: 2}, fn), "no ack at all")
	assert.EqualValues(t, 3, l.Stats().Impossible)
	assert.Equal(t, 3, l.outstanding())
}

func TestEchoesFromAnotherClockAreNotBelieved(t *testing.T) {
	l := New[item](Options{})
	sendN(l, time.Second, 2)
	require.NoError(t, l.TakeAck(time.Second+100*us, echoing(ack(1), time.Hour), nothing))
	assert.Zero(t, l.rtt.smooth)
	require.NoError(t, l.TakeAck(time.Second+100*us, echoing(ack(2), time.Second), nothing))
	assert.Equal(t, 100*us, l.rtt.smooth)
	assert.EqualValues(t, 1, l.Stats().BadEchoes)
	assert.EqualValues(t, 1, l.Trips().Count())
}

func TestAcksAreDelayedUnlessThereIsNews(t *testing.T) {
	l := New[item](Options{AckEvery: 3, AckDelay: 50 * us})
	at := func() time.Duration { d, ok := l.Deadline(); require.True(t, ok); return d }
	clear := func(now time.Duration) (a wire.Transport) {
		l.FillAck(now, &a)
		assert.False(t, l.AckDue(now+time.Hour))
		return a
	}
	assert.True(t, l.Arrive(0, segment(0, 0)))
	assert.False(t, l.AckDue(49*us))
	assert.Equal(t, 50*us, at())
	assert.True(t, l.AckDue(50*us))
	assert.True(t, l.Arrive(10*us, segment(1, 7*us)))
	assert.False(t, l.AckDue(10*us))
	assert.True(t, l.Arrive(20*us, segment(2, 9*us)))
	assert.True(t, l.AckDue(20*us), "the third")
	a := clear(25 * us)
	assert.Equal(t, "ack=3 stamp=25µs echo=14µs", a.String(), "stamp 9 and held for 5")
	assert.True(t, l.Arrive(30*us, segment(5, 0)))
	assert.True(t, l.AckDue(30*us), "a gap")
	a = clear(30 * us)
	assert.Equal(t, "ack=3 [5,6) stamp=30µs echo=0µs", a.String())
	assert.True(t, l.Arrive(31*us, segment(6, 0)))
	assert.False(t, l.AckDue(31*us), "nothing new about the gap")
	assert.True(t, l.Arrive(32*us, segment(3, 0)))
	assert.True(t, l.AckDue(32*us), "part of the gap")
	clear(32 * us)
	for _, old := range []Seq{0, 3, 5} {
		assert.False(t, l.Arrive(33*us, segment(old, 0)))
		assert.True(t, l.AckDue(33*us), "the peer has missed an ack")
		clear(33 * us)
	}
	question := segment(7, 0)
	question.Flags |= wire.FlagAnswer
	assert.True(t, l.Arrive(34*us, question))
	assert.True(t, l.AckDue(34*us))
	clear(34 * us)
	assert.False(t, l.Arrive(35*us, &wire.Transport{Flags: wire.FlagAnswer, Stamp: 77}))
	assert.True(t, l.AckDue(35*us))
	a = clear(36 * us)
	assert.EqualValues(t, 78, a.Echo)
	assert.False(t, l.Arrive(36*us, &wire.Transport{Flags: wire.FlagAck}))
	assert.False(t, l.AckDue(time.Hour), "acks are not acked")
}

// The segments of one packet count as one for the delay of acks, and one of them that
// is news makes the ack due at once.
func TestSegmentsOfOnePacketAreAckedTogether(t *testing.T) {
	l := New[item](Options{AckEvery: 2, AckDelay: 50 * us})
	clear := func(now time.Duration) (a wire.Transport) {
		l.FillAck(now, &a)
		return a
	}
	assert.True(t, l.Arrive(0, segment(0, 0)))
	assert.True(t, l.ArriveNext(0))
	assert.True(t, l.ArriveNext(0))
	assert.False(t, l.AckDue(49*us))
	assert.True(t, l.Arrive(10*us, segment(3, 0)))
	assert.True(t, l.AckDue(10*us), "the second packet")
	assert.EqualValues(t, 4, clear(10*us).Ack)

	assert.False(t, l.Arrive(20*us, segment(3, 0)))
	assert.True(t, l.AckDue(20*us))
	assert.True(t, l.ArriveNext(20*us), "a repetition, and a new segment behind it")
	assert.EqualValues(t, 5, clear(20*us).Ack)

	assert.True(t, l.Arrive(30*us, segment(6, 0)))
	clear(30 * us)
	assert.True(t, l.Arrive(40*us, segment(7, 0)))
	assert.False(t, l.AckDue(40*us), "nothing new about the gap")
	clear(40 * us)
	assert.True(t, l.Arrive(50*us, segment(5, 0)))
	assert.False(t, l.ArriveNext(50*us))
	a := clear(50 * us)
	assert.Equal(t, "ack=8 stamp=50µs echo=0µs", a.String())

	assert.True(t, l.Arrive(60*us, segment(8, 0)))
	assert.True(t, l.ArriveNext(60*us))
	l.Refuse()
	assert.True(t, l.ArriveNext(60*us))
	assert.True(t, l.AckDue(60*us), "the sender must learn at once which one was refused")
	a = clear(60 * us)
	assert.Equal(t, "ack=9 [10,11) stamp=60µs echo=0µs", a.String())

	assert.True(t, l.Arrive(70*us, segment(8+WindowSegments, 0)))
	assert.False(t, l.ArriveNext(70*us), "beyond the window")
	assert.EqualValues(t, 1, l.Stats().Beyond)
}

func TestSegmentsOutsideOfTheWindow(t *testing.T) {
	l := New[item](Options{FirstRecv: 10})
	assert.False(t, l.Arrive(0, segment(10+WindowSegments, 0)))
	assert.True(t, l.Arrive(0, segment(9+WindowSegments, 0)))
	assert.EqualValues(t, 1, l.Stats().Beyond)
	assert.False(t, l.Arrive(0, segment(9, 0)))
	assert.EqualValues(t, 1, l.Stats().Duplicates)
}

func TestARefusedSegmentMayComeAgain(t *testing.T) {
	l := New[item](Options{})
	for range 3 {
		assert.True(t, l.Arrive(0, segment(0, 0)))
		l.Refuse()
		var a wire.Transport
		l.FillAck(0, &a)
		assert.Zero(t, a.Ack)
	}
	assert.True(t, l.Arrive(0, segment(0, 0)))
	var a wire.Transport
	l.FillAck(0, &a)
	assert.EqualValues(t, 1, a.Ack)
	assert.Equal(t, Stats{Arrived: 1, Refused: 3, AcksSent: 4}, l.Stats())
}

// An ack that has no room for its ranges stays due.
func TestAnAckWithoutRoomForItsRanges(t *testing.T) {
	l := New[item](Options{})
	l.Arrive(0, segment(1, 0))
	var a wire.Transport
	l.FillAckWithin(0, &a, 0)
	assert.Zero(t, a.N)
	assert.True(t, l.AckDue(0))
	l.FillAckWithin(0, &a, 1)
	assert.EqualValues(t, 1, a.N)
	assert.False(t, l.AckDue(time.Hour))
}

func TestTimeoutsProbeTheTailAndBackOff(t *testing.T) {
	l := New[item](Options{GiveUp: time.Second, TimeoutMax: 100 * time.Millisecond})
	sendN(l, 0, 1)
	require.NoError(t, l.TakeAck(100*us, echoing(ack(1), 0), nothing))
	sendN(l, time.Second, 3) // 1, 2, 3
	now, ok := l.Deadline()
	require.True(t, ok)
	assert.Less(t, now-time.Second, time.Millisecond, "the first comes early")
	require.NoError(t, l.Expire(now))
	assert.Equal(t, []item{3}, lostNow(l, now), "the newest, whose ack tells of the others")
	var a wire.Transport
	l.FillAck(now, &a)
	assert.NotZero(t, a.Flags&wire.FlagAnswer)
	var waits []time.Duration
	for was := now; ; was = now {
		now, ok = l.Deadline()
		require.True(t, ok)
		if err := l.Expire(now); err != nil {
			assert.ErrorIs(t, err, ErrSilent)
			assert.Equal(t, 2*time.Second, now, "a second after the first was sent")
			break
		}
		require.Len(t, lostNow(l, now), 1)
		waits = append(waits, now-was)
	}
	for i, w := range waits {
		assert.True(t, w <= 100*time.Millisecond && w >= time.Millisecond, "%v", waits)
		assert.True(t, i < 2 || w == min(2*waits[i-1], 100*time.Millisecond), "%v", waits)
	}
	var left []item
	l.Unacked(func(s *item) { left = append(left, *s) })
	assert.Equal(t, []item{1, 2, 3}, left)
}

// A process that was stopped for longer than GiveUp asks before it gives up.
func TestALateExpireAsksFirst(t *testing.T) {
	l := New[item](Options{GiveUp: time.Second})
	sendN(l, 0, 1)
	for range probesMin - 1 {
		require.NoError(t, l.Expire(time.Hour))
		lostNow(l, time.Hour)
	}
	require.NoError(t, l.TakeAck(time.Hour, ack(1), nothing))
	require.NoError(t, l.Expire(2*time.Hour))
}

// A peer that receives but has no room is not silent.
func TestARefusingPeerIsNotSilent(t *testing.T) {
	l := New[item](Options{GiveUp: time.Second})
	sendN(l, 0, 1)
	for now := time.Duration(0); now < 5*time.Second; now += 100 * time.Millisecond {
		require.NoError(t, l.Expire(now))
		lostNow(l, now)
		require.NoError(t, l.TakeAck(now+us, echoing(ack(0), now), nothing))
	}
	assert.Equal(t, 1, l.outstanding())
}

// Memory grows with use and is given back.
func TestMemoryIsBounded(t *testing.T) {
	type fat [7]uint64 // about the size of a caller's record of a segment
	l := New[fat](Options{})
	idle := func() uintptr {
		return unsafe.Sizeof(*l) + uintptr(cap(l.ring.records))*unsafe.Sizeof(l.ring.records[0])
	}
	require.LessOrEqual(t, idle(), uintptr(16<<10))
	for range WindowSegments {
		l.Send(0, fat{}, 1)
	}
	assert.Zero(t, l.Room(0))
	assert.Panics(t, func() { l.Send(0, fat{}, 1) })
	assert.Greater(t, idle(), uintptr(WindowSegments*64))
	require.NoError(t, l.TakeAck(us, ack(WindowSegments), func(*fat) {}))
	at, ok := l.Deadline()
	require.True(t, ok)
	assert.Equal(t, us+IdleAfter, at)
	require.NoError(t, l.Expire(at))
	assert.LessOrEqual(t, idle(), uintptr(16<<10))
	_, ok = l.Deadline()
	assert.False(t, ok, "an idle lane wants nothing")
}

// Segments, acks, losses and retransmissions take no memory.
func TestSegmentsDoNotAllocate(t *testing.T) {
	for name, cc := range map[string]Congestion{"none": nil, "delay": NewDelay(DelayOptions{})} {
		a, b := New[item](Options{Congestion: cc}), New[item](Options{})
		now := time.Duration(0)
		var there, back wire.Transport
		acked := 0
		fn := func(*item) { acked++ }
		pass := func(seq Seq, lost bool) {
			a.FillAckWithin(now, &there, 0)
			there.Flags |= wire.FlagSegment
			there.Seq = uint32(seq)
			if !lost {
				b.Arrive(now+50*us, &there)
			}
			there.Clear()
		}
		turn := func() {
			now += 10 * us
			for n := min(a.Room(now), 40); n > 0; n-- {
				pass(a.Send(now, item(n), 1000), n%7 == 0)
			}
			if b.AckDue(now + 50*us) {
				b.FillAck(now+50*us, &back)
				if err := a.TakeAck(now+100*us, &back, fn); err != nil {
					t.Fatal(err)
				}
				back.Clear()
			}
			now += 100 * us
			if at, ok := a.Deadline(); ok && at <= now {
				if err := a.Expire(now); err != nil {
					t.Fatal(err)
				}
			}
			for {
				seq, _, ok := a.Lost(now)
				if !ok {
					break
				}
				a.Resent(now, seq)
				pass(seq, false)
			}
		}
		for range 500 {
			turn()
		}
		was := acked
		assert.Zero(t, testing.AllocsPerRun(500, turn), name)
		assert.Greater(t, acked, was+500, name)
		assert.NotZero(t, a.Stats().Resent, name)
	}
}

// BenchmarkSegment is one segment and its share of an ack back.
func BenchmarkSegment(b *testing.B) {
	x, y := New[item](Options{Congestion: NewDelay(DelayOptions{})}), New[item](Options{})
	now := time.Duration(0)
	var there, back wire.Transport
	fn := func(*item) {}
	for i := range b.N {
		now += us
		if x.Room(now) > 0 {
			seq := x.Send(now, item(i), 1000)
			x.FillAckWithin(now, &there, 0)
			there.Flags |= wire.FlagSegment
			there.Seq = uint32(seq)
			y.Arrive(now, &there)
			there.Clear()
		}
		if y.AckDue(now) {
			y.FillAck(now, &back)
			_ = x.TakeAck(now+us/2, &back, fn)
			back.Clear()
		}
	}
}

func TestAnAckThatHadNoRoomForAllRangesIsFollowedByOneThatHas(t *testing.T) {
	l := New[item](Options{})
	for _, seq := range []Seq{1, 3, 5, 7} { // of one batch
		assert.True(t, l.Arrive(0, segment(seq, 0)))
	}
	fill := func(now time.Duration, ranges int) string {
		var a wire.Transport
		l.FillAckWithin(now, &a, ranges)
		return a.String()
	}
	assert.Equal(t, "ack=0 [5,6) [7,8) stamp=1µs echo=1µs", fill(us, 2))
	assert.True(t, l.AckDue(us))
	assert.Equal(t, "ack=0 stamp=1µs", fill(us, 2), "that was said")
	assert.True(t, l.AckDue(us))
	assert.True(t, l.Arrive(2*us, segment(9, 0)))
	assert.Equal(t, "ack=0 [7,8) [9,10) stamp=2µs echo=0µs", fill(2*us, 2), "that was not")
	assert.True(t, l.AckDue(2*us))
	assert.Equal(t, "ack=0 [1,2) [3,4) [5,6) [7,8) [9,10) stamp=3µs echo=1µs", fill(3*us, wire.RangesMax))
	assert.False(t, l.AckDue(time.Hour))
	assert.EqualValues(t, 3, l.Stats().AcksSent)
	assert.True(t, l.Arrive(4*us, segment(11, 0)))
	assert.Equal(t, "ack=0 [9,10) [11,12) stamp=4µs echo=0µs", fill(4*us, 2))
}
