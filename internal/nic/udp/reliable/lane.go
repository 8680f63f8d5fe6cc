package reliable

import (
	"errors"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

var (
	// ErrSilent: the peer has not answered for the configured time.
	ErrSilent = errors.New("reliable: the peer does not answer; check that it runs and that the network lets UDP through both ways")
	// ErrImpossible: an ack is for segments that were never sent.
	ErrImpossible = errors.New("reliable: the peer acks segments that were never sent")
)

// A Lane makes one lane of a connection reliable, in both directions. S is the value
// from which the caller can make the bytes of a segment again.
//
// The caller does the following, in this order, whenever packets came or the deadline
// has passed:
//
//	for each packet: TakeAck, then Arrive, and ArriveNext for further segments;
//	  Refuse if there is no room for a segment
//	Expire, if Deadline has passed
//	while Lost has a segment: make the packet, Resent, FillAck, send
//	while Room > 0 and there is a new segment: make the packet, Send, FillAck, send
//	  (segments with consecutive numbers may share a packet)
//	if AckDue: FillAck, send
//	wait until Deadline
type Lane[S any] struct {
	opts  Options
	stats Stats
	rtt   roundTrip
	trips Histogram

	// Sending: first ≤ every unacked segment < next; next - first ≤ WindowSegments.
	// Each of those is in flying, in lost, or acked.
	first, next Seq
	ring        ring[S]
	flying      list   // not acked, not lost; in the order of transmission
	lost        list   // to be retransmitted, in this order
	bytes       int    // of the segments in flying
	order       uint64 // number of the latest transmission
	newest      uint64 // number of the latest transmission that arrived
	burst       uint64 // number of the first transmission with the stamp burstAt
	burstAt     uint32
	ask         bool // the next packet asks for an answer
	pace        pacer

	// Ranges beyond first in the previous ack.
	seen  [wire.RangesMax]wire.Range
	seenN int

	reorder    reordering
	probes     int           // time-outs since something was acked
	probeFirst time.Duration // the first of them
	probeAt    time.Duration // the latest time-out
	heardAt    time.Duration // the latest proof that the peer receives our packets, or the start of waiting
	idleSince  time.Duration // when the lane became idle (first = next)
	echo       time.Duration // when the packet with the newest echoed stamp was sent
	echoed     bool

	recv receiver
}

// New makes a lane.
func New[S any](opts Options) *Lane[S] {
	l := new(Lane[S])
	l.Init(opts)
	return l
}

// Init makes l an unused lane. It is for lanes that are embedded in a larger record.
func (l *Lane[S]) Init(opts Options) {
	opts = opts.withDefaults()
	*l = Lane[S]{opts: opts, first: opts.FirstSend, next: opts.FirstSend}
	l.recv.init(opts.FirstRecv)
}

// Unanswered is the number of time-outs in a row since something was acked.
func (l *Lane[S]) Unanswered() int { return l.probes }

// Silence returns the times of the first and the latest of the Unanswered time-outs,
// if there are any.
func (l *Lane[S]) Silence() (first, latest time.Duration) { return l.probeFirst, l.probeAt }

// Unacked calls fn for every segment that was sent and is not acked, oldest first,
// for the error of a drain that timed out.
func (l *Lane[S]) Unacked(fn func(*S)) {
	for seq := l.first; seq != l.next; seq++ {
		if e := l.ring.at(seq); e.state != acked {
			fn(&e.segment)
		}
	}
}

// SetSegmentBytes changes the segment size that Room uses, for a path whose MTU has
// changed.
func (l *Lane[S]) SetSegmentBytes(n int) { l.opts.SegmentBytes = orDefault(n, SegmentBytes) }

// Trips returns the measured round trips.
func (l *Lane[S]) Trips() *Histogram { return &l.trips }

// Window returns how many bytes may be under way at once, and how many are.
func (l *Lane[S]) Window() (most, used int) {
	most = WindowSegments * l.opts.SegmentBytes
	if c := l.opts.Congestion; c != nil {
		most = min(most, c.Window())
	}
	return most, l.bytes
}

// Stats returns the counts so far.
func (l *Lane[S]) Stats() Stats { return l.stats }

// stamp is a time in the format of packets.
func stamp(t time.Duration) uint32 { return uint32(t / granularity) }
