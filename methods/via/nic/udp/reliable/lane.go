package reliable

import (
	"errors"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

var (
	// ErrSilent: the peer has not answered for the configured time.
	ErrSilent = errors.New("reliable: the peer does not answer; check that it runs and that the network lets UDP through both ways")
	// ErrImpossible: an ack is for segments that were never sent.
	ErrImpossible = errors.New("reliable: the peer acks what was never sent")
)

// A Lane makes one lane of a connection reliable, in both directions. S is what
// the caller needs to make the bytes of a segment again.
//
// What a caller does, in this order, whenever packets came or the deadline has
// passed:
//
//	for each packet: TakeAck, then Arrive, and Refuse if the segment has no place
//	Expire, if Deadline has passed
//	for Lost is there: make the packet, Resent, FillAck, send
//	for Room > 0 and there is something new: make the packet, Send, FillAck, send
//	if AckDue: FillAck, send
//	ask Deadline, wait
type Lane[S any] struct {
	opts  Options
	stats Stats
	rtt   roundTrip
	trips Histogram

	// Sending: first ≤ every segment not acked < next; next - first ≤
	// WindowSegments. Each of those is in flying, in lost, or acked.
	first, next Seq
	ring        ring[S]
	flying      list   // not acked, not lost; in the order of transmission
	lost        list   // to be sent again, in this order
	bytes       int    // of the segments in flying
	order       uint64 // number of the latest transmission
	newest      uint64 // number of the latest transmission that arrived
	burst       uint64 // number of the first transmission with the stamp burstAt
	burstAt     uint32
	ask         bool // the next packet asks for an answer
	pace        pacer

	// What was acked beyond first by the ack before this one.
	seen  [wire.RangesMax]wire.Range
	seenN int

	reorder    reordering
	probes     int           // time-outs since something was acked
	probeFirst time.Duration // the first of them
	probeAt    time.Duration // the latest time-out
	heardAt    time.Duration // the latest proof that the peer hears us, or the begin of waiting
	idleSince  time.Duration // when first became next
	echo       time.Duration // when the packet was sent that the newest echo is of
	echoed     bool

	recv receiver
}

// New makes a lane.
func New[S any](opts Options) *Lane[S] {
	l := new(Lane[S])
	l.Init(opts)
	return l
}

// Init makes l, which lies in a larger record, an unused lane.
func (l *Lane[S]) Init(opts Options) {
	opts = opts.withDefaults()
	*l = Lane[S]{opts: opts, first: opts.FirstSend, next: opts.FirstSend}
	l.recv.init(opts.FirstRecv)
}

// Unanswered is the number of time-outs in a row since something was acked.
func (l *Lane[S]) Unanswered() int { return l.probes }

// Silence is when the first and the latest of the Unanswered time-outs were, if there
// are any.
func (l *Lane[S]) Silence() (first, latest time.Duration) { return l.probeFirst, l.probeAt }

// Unacked calls fn for every segment that was sent and is not acked, oldest
// first: what a drain with a deadline reports.
func (l *Lane[S]) Unacked(fn func(*S)) {
	for seq := l.first; seq != l.next; seq++ {
		if e := l.ring.at(seq); e.state != acked {
			fn(&e.segment)
		}
	}
}

// SetSegmentBytes changes the size that Room counts with, for a path whose MTU
// has changed.
func (l *Lane[S]) SetSegmentBytes(n int) { l.opts.SegmentBytes = orDefault(n, SegmentBytes) }

// Trips are the round trips that were measured.
func (l *Lane[S]) Trips() *Histogram { return &l.trips }

// Stats are what happened so far.
func (l *Lane[S]) Stats() Stats { return l.stats }

// stamp is a time as packets carry it.
func stamp(t time.Duration) uint32 { return uint32(t / granularity) }
