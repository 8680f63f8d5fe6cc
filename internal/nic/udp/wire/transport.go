package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Limits of a Transport.
const (
	// TransportLen is the length without ranges, in bytes, RangeLen that of
	// one range.
	TransportLen = 24
	RangeLen     = 8
	// RangesMax is the number of ranges that one packet carries at most.
	RangesMax = 32
	// WindowSegments is how far a sender may be ahead of the oldest unacked
	// segment, and so how far a range reaches beyond Ack at most.
	WindowSegments = 4096
)

// TransportFlags say which fields are used, and request an answer.
type TransportFlags uint8

const (
	// FlagSegment: segments follow, and Seq is the number of the first one.
	FlagSegment TransportFlags = 1 << iota
	// FlagAck: Ack and Ranges are used.
	FlagAck
	// FlagAnswer requests an ack at once.
	FlagAnswer
	// FlagEcho: Echo is used. It comes only with FlagAck.
	FlagEcho
	flagsEnd
)

// A Range is the segments First to End, without End.
type Range struct{ First, End uint32 }

// A Transport starts the payload of every Packet. Fields that no flag enables are
// zero.
//
//	 0       1   2      4     8     12      16     20     24
//	+-------+---+------+-----+-----+-------+------+------+- - - - - -+
//	| flags | n | zero | seq | ack | stamp | echo | zero | n ranges  |
//	+-------+---+------+-----+-----+-------+------+------+- - - - - -+
type Transport struct {
	Flags TransportFlags
	// N is the number of Ranges in use, at most RangesMax.
	N uint8
	// Seq counts the segments of a lane and direction, and wraps. The segments of a
	// packet have consecutive numbers.
	Seq uint32
	// Ack says that every segment before it has arrived on this lane.
	Ack uint32
	// Stamp is the sender's clock at sending, in µs; it wraps.
	Stamp uint32
	// Echo is the Stamp of the newest packet with a segment, plus the time in µs
	// since that packet arrived. For the receiver of the Echo, now - Echo is the
	// round trip.
	Echo uint32
	// Ranges are the arrivals beyond Ack: ascending, disjoint, not adjacent, none
	// of them further than WindowSegments from Ack.
	Ranges [RangesMax]Range
}

// Len is the number of bytes that Append appends.
func (t *Transport) Len() int { return TransportLen + int(t.N)*RangeLen }

// Append appends the header to b.
func (t *Transport) Append(b []byte) []byte {
	b = append(b, byte(t.Flags), t.N, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, t.Seq)
	b = binary.LittleEndian.AppendUint32(b, t.Ack)
	b = binary.LittleEndian.AppendUint32(b, t.Stamp)
	b = binary.LittleEndian.AppendUint32(b, t.Echo)
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, r := range t.Ranges[:t.N] {
		b = binary.LittleEndian.AppendUint32(b, r.First)
		b = binary.LittleEndian.AppendUint32(b, r.End)
	}
	return b
}

// Parse reads a header into t and returns the segments that follow; nil if there
// are none. Only the first N of t.Ranges are written; the rest is unchanged.
func (t *Transport) Parse(b []byte) (segments []byte, err error) {
	if len(b) < TransportLen {
		return nil, ErrShort
	}
	t.Flags, t.N = TransportFlags(b[0]), b[1]
	t.Seq = binary.LittleEndian.Uint32(b[4:])
	t.Ack = binary.LittleEndian.Uint32(b[8:])
	t.Stamp = binary.LittleEndian.Uint32(b[12:])
	t.Echo = binary.LittleEndian.Uint32(b[16:])
	if b[2] != 0 || b[3] != 0 || binary.LittleEndian.Uint32(b[20:]) != 0 || !t.flagsFit() {
		t.N = 0
		return nil, ErrInvalid
	}
	n := int(t.N)
	if b = b[TransportLen:]; len(b) < n*RangeLen {
		t.N = 0
		return nil, ErrShort
	}
	if !t.parseRanges(b, n) {
		t.N = 0
		return nil, ErrInvalid
	}
	b = b[n*RangeLen:]
	switch {
	case t.Flags&FlagSegment != 0:
		if len(b) == 0 {
			return nil, ErrShort
		}
		return b, nil
	case len(b) != 0:
		return nil, ErrLong
	}
	return nil, nil
}

// flagsFit reports whether the flags are known and every field without its flag
// is zero.
func (t *Transport) flagsFit() bool {
	switch {
	case t.Flags >= flagsEnd,
		t.N > RangesMax,
		t.Flags&FlagSegment == 0 && t.Seq != 0,
		t.Flags&FlagAck == 0 && (t.Ack != 0 || t.N != 0 || t.Flags&FlagEcho != 0),
		t.Flags&FlagEcho == 0 && t.Echo != 0:
		return false
	}
	return true
}

// parseRanges reads n ranges and reports whether they are valid.
func (t *Transport) parseRanges(b []byte, n int) bool {
	last := uint32(0) // end of the previous range, counted from Ack
	for i := range n {
		r := Range{
			First: binary.LittleEndian.Uint32(b[i*RangeLen:]),
			End:   binary.LittleEndian.Uint32(b[i*RangeLen+4:]),
		}
		first, end := r.First-t.Ack, r.End-t.Ack
		if first <= last || end <= first || end > WindowSegments {
			return false
		}
		t.Ranges[i], last = r, end
	}
	return true
}

// Clear makes t the zero value, except for ranges that are not in use.
func (t *Transport) Clear() {
	t.Flags, t.N, t.Seq, t.Ack, t.Stamp, t.Echo = 0, 0, 0, 0, 0, 0
}

func (t *Transport) String() string {
	var s strings.Builder
	if t.Flags&FlagSegment != 0 {
		fmt.Fprintf(&s, "seq=%d ", t.Seq)
	}
	if t.Flags&FlagAck != 0 {
		fmt.Fprintf(&s, "ack=%d ", t.Ack)
		for _, r := range t.Ranges[:min(t.N, RangesMax)] {
			fmt.Fprintf(&s, "[%d,%d) ", r.First, r.End)
		}
	}
	fmt.Fprintf(&s, "stamp=%dµs", t.Stamp)
	if t.Flags&FlagEcho != 0 {
		fmt.Fprintf(&s, " echo=%dµs", t.Echo)
	}
	if t.Flags&FlagAnswer != 0 {
		s.WriteString(" answer")
	}
	return s.String()
}
