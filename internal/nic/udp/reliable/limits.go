package reliable

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// Limits that both sides share, because they are part of the packet format.
const (
	// WindowSegments is how far a sender may be ahead of the oldest unacked
	// segment.
	WindowSegments = wire.WindowSegments
)

// Defaults of Options.
const (
	// AckDelay is how long an ack waits for a packet that can carry it.
	AckDelay = 50 * time.Microsecond
	// AckEvery is the number of segments after which an ack is due without delay.
	AckEvery = 4
	// TimeoutFirst is the time-out before any round trip was measured.
	TimeoutFirst = 20 * time.Millisecond
	// TimeoutMin and TimeoutMax bound the time-out. The upper bound also limits
	// the backoff, so that a path that works again is noticed soon; it must
	// exceed the longest round trip.
	TimeoutMin = time.Millisecond
	TimeoutMax = 250 * time.Millisecond
	// ProbeMin is the minimum of the first time-out of a segment, after which one
	// segment is retransmitted without assuming congestion.
	ProbeMin = 200 * time.Microsecond
	// GiveUp is how long a peer may be silent while something waits for it.
	GiveUp = 10 * time.Second
	// IdleAfter is how long a lane has nothing under way before it frees memory.
	IdleAfter = time.Second
	// SegmentBytes is the segment size that Room uses.
	SegmentBytes = 1200
)

const (
	// ringMin is the minimum number of segment records of a lane; a power of two.
	ringMin = 32
	// probesMin is how many time-outs in a row must go unanswered before a peer
	// counts as silent: a process that was stopped for long finds the answers in
	// its socket after it has probed.
	probesMin = 2
	// backoffMax bounds the doubling of the time-out, before TimeoutMax does.
	backoffMax = 16
	// roundTripMax is the longest round trip that is accepted as valid.
	roundTripMax = time.Minute
)

// Options describe a Lane. A zero field means the default of the same name.
type Options struct {
	// Congestion limits the bytes under way; nil: only WindowSegments does. It
	// belongs to the lane from now on.
	Congestion Congestion
	// SegmentBytes is the usual size of a large segment, as given to Send.
	SegmentBytes int
	// AckDelay and AckEvery: an ack is due when either is reached.
	AckDelay time.Duration
	AckEvery int
	// TimeoutFirst, TimeoutMin, TimeoutMax and ProbeMin bound the time-out.
	TimeoutFirst, TimeoutMin, TimeoutMax, ProbeMin time.Duration
	// GiveUp is the silence after which Expire returns ErrSilent.
	GiveUp time.Duration
	// IdleAfter is the idle time after which memory is freed.
	IdleAfter time.Duration
	// FirstSend and FirstRecv are the numbers of the first segment of each
	// direction; each side's FirstSend is the other's FirstRecv.
	FirstSend, FirstRecv Seq
}

func (o Options) withDefaults() Options {
	o.SegmentBytes = orDefault(o.SegmentBytes, SegmentBytes)
	o.AckDelay = orDefault(o.AckDelay, AckDelay)
	o.AckEvery = orDefault(o.AckEvery, AckEvery)
	o.TimeoutMin = orDefault(o.TimeoutMin, TimeoutMin)
	o.TimeoutMax = max(orDefault(o.TimeoutMax, TimeoutMax), o.TimeoutMin)
	o.TimeoutFirst = min(orDefault(o.TimeoutFirst, TimeoutFirst), o.TimeoutMax)
	o.ProbeMin = min(orDefault(o.ProbeMin, ProbeMin), o.TimeoutMax)
	o.GiveUp = orDefault(o.GiveUp, GiveUp)
	o.IdleAfter = orDefault(o.IdleAfter, IdleAfter)
	return o
}

func orDefault[N int | time.Duration](n, otherwise N) N {
	if n <= 0 {
		return otherwise
	}
	return n
}
