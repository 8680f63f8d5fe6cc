package reliable

import "time"

// state says in which list the record of a segment is.
type state uint8

const (
	flying state = iota // in Lane.flying
	lost                // in Lane.lost
	acked               // in no list; its segment is gone
)

// A record is one segment that was sent.
type record[S any] struct {
	segment    S
	at         time.Duration // of the latest transmission
	order      uint64        // number of the latest transmission
	burst      uint64        // number of the first transmission with the same stamp
	prev, next Seq           // neighbours in its list; not used at the ends
	bytes      int32
	sends      uint16 // transmissions so far; stops at its largest value
	state      state
	probe      bool // must be retransmitted because of a time-out
	probed     bool // was retransmitted because of a time-out
}

// A ring holds the records of the segments from first to next. It grows when it
// is full and never beyond WindowSegments. Its length is a power of two, or 0.
type ring[S any] struct{ records []record[S] }

// at is the record of a segment.
func (r *ring[S]) at(seq Seq) *record[S] { return &r.records[int(seq)&(len(r.records)-1)] }

// makeRoom makes sure that there is a record for next beside those from first on.
func (r *ring[S]) makeRoom(first, next Seq) {
	n := next.Sub(first)
	if n < len(r.records) {
		return
	}
	bigger := ring[S]{records: make([]record[S], max(ringMin, 2*len(r.records)))}
	for seq := first; seq != next; seq++ {
		*bigger.at(seq) = *r.at(seq)
	}
	*r = bigger
}

// shrink frees the memory of an empty ring, except for the minimum.
func (r *ring[S]) shrink() {
	if len(r.records) > ringMin {
		r.records = make([]record[S], ringMin)
	}
}

// A list links records of a ring by their numbers, so it stays valid when the
// ring grows. The ends are valid while n > 0.
type list struct {
	front, back Seq
	n           int
}

// add puts a record at the end.
func add[S any](r *ring[S], l *list, seq Seq, e *record[S]) {
	if l.n == 0 {
		l.front = seq
	} else {
		e.prev = l.back
		r.at(l.back).next = seq
	}
	l.back = seq
	l.n++
}

// addFront puts a record at the front.
func addFront[S any](r *ring[S], l *list, seq Seq, e *record[S]) {
	if l.n == 0 {
		l.back = seq
	} else {
		e.next = l.front
		r.at(l.front).prev = seq
	}
	l.front = seq
	l.n++
}

// remove takes a record out.
func remove[S any](r *ring[S], l *list, seq Seq, e *record[S]) {
	if seq == l.front {
		l.front = e.next
	} else {
		r.at(e.prev).next = e.next
	}
	if seq == l.back {
		l.back = e.prev
	} else {
		r.at(e.next).prev = e.prev
	}
	l.n--
}
