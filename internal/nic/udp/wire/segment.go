package wire

import (
	"encoding/binary"
	"fmt"
)

// Segment is the header of one message, or of a part of it. The data follows it, up to the end of
// the packet, or up to the next segment of the packet (JoinSegment): then the header has the length
// of the data.
//
//	 0      1       2        4        8           12      16       20     24     32
//	+------+-------+--------+--------+-----------+-------+--------+------+------+--------+------+
//	| kind | flags | length | number | immediate | total | offset | recv | addr | handle | data |
//	+------+-------+--------+--------+-----------+-------+--------+------+------+--------+------+
//	                                                                     '- WRITE and READ_REQUEST -'
//
// Every SEND, WRITE and READ_REQUEST of a direction has a number, counted from 0
// in the order of their posts over both lanes, and takes effect in that order.
// READ_DATA and READ_REFUSED answer the request of their number.
//
// Recv counts the receives that earlier messages of the direction take, so that the receive of a
// message is known although earlier messages are missing. It is 0 for messages that take no
// receive.
//
// Segments of a message may have any lengths. They overlap only if one was cut in two because the
// path's MTU became smaller.
type Segment struct {
	Kind         SegmentKind
	HasImmediate bool
	Number       uint32
	Immediate    uint32 // 0 without HasImmediate; in a BYE with it, a Reason
	Total        uint32 // bytes of the message; of a READ_REQUEST, bytes requested
	Offset       uint32 // of the first byte of the data in the message
	Recv         uint32 // SEND, and WRITE with immediate data
	Addr, Handle uint64 // WRITE, READ_REQUEST: remote address of the message's first byte
}

// SegmentKind is the effect of a message.
type SegmentKind uint8

const (
	// SegmentSend goes into the oldest receive.
	SegmentSend SegmentKind = iota + 1
	// SegmentWrite goes into memory that the sender names. With immediate data it also takes a
	// receive.
	SegmentWrite
	// SegmentReadRequest requests memory. It carries no data.
	SegmentReadRequest
	// SegmentReadData carries the requested data, outside the order.
	SegmentReadData
	// SegmentReadRefused says that the requested memory may not be read.
	SegmentReadRefused
	// SegmentBye ends the connection. Without immediate data it is orderly: the messages before
	// its number still count, and there are none from there on. With immediate data the connection
	// broke, now, for the Reason in that data: of the messages of the other direction, those
	// before its number took effect, and none from there on.
	SegmentBye
	segmentEnd
)

// Reason says why the sender of a SegmentBye broke the connection. A receiver treats an unknown
// reason as ReasonProtocol.
type Reason uint32

const (
	// ReasonProtocol: what arrived breaks the rules.
	ReasonProtocol Reason = iota + 1
	// ReasonNoReceive: a message found no receive posted.
	ReasonNoReceive
	// ReasonLength: a message was longer than its receive.
	ReasonLength
	// ReasonMemory: the memory of a receive is no longer registered.
	ReasonMemory
	// ReasonRDMA: the memory named by a write does not allow it.
	ReasonRDMA
)

// Lengths of a segment's header, in bytes.
const (
	SegmentLen       = 24
	SegmentRemoteLen = 40 // of WRITE and READ_REQUEST
)

// Flags of a segment.
const (
	segmentImmediate = 1 // HasImmediate
	segmentJoined    = 2 // another segment follows the data, whose length is given
)

// SegmentJoinedMax is the largest data of a segment that another one follows, in bytes.
const SegmentJoinedMax = 1<<16 - 1

// HeaderLen is the length of what Append appends.
func (m *Segment) HeaderLen() int { return m.Kind.HeaderLen() }

// HeaderLen is the length of the header of a segment of this kind.
func (k SegmentKind) HeaderLen() int {
	if k.remote() {
		return SegmentRemoteLen
	}
	return SegmentLen
}

func (k SegmentKind) remote() bool { return k == SegmentWrite || k == SegmentReadRequest }

// Append appends the header to b. The caller adds the data, and may then join another segment to it
// (JoinSegment).
func (m *Segment) Append(b []byte) []byte {
	var head [SegmentRemoteLen]byte
	head[0] = byte(m.Kind)
	if m.HasImmediate {
		head[1] = segmentImmediate
	}
	binary.LittleEndian.PutUint32(head[4:], m.Number)
	binary.LittleEndian.PutUint32(head[8:], m.Immediate)
	binary.LittleEndian.PutUint32(head[12:], m.Total)
	binary.LittleEndian.PutUint32(head[16:], m.Offset)
	binary.LittleEndian.PutUint32(head[20:], m.Recv)
	if !m.Kind.remote() {
		return append(b, head[:SegmentLen]...)
	}
	binary.LittleEndian.PutUint64(head[24:], m.Addr)
	binary.LittleEndian.PutUint64(head[32:], m.Handle)
	return append(b, head[:]...)
}

// JoinSegment tells, in the header that Append wrote at the front of b, that another segment follows
// n bytes of data, at most SegmentJoinedMax.
func JoinSegment(b []byte, n int) {
	b[1] |= segmentJoined
	binary.LittleEndian.PutUint16(b[2:], uint16(n))
}

// ParseSegment reads the first segment of b into m: the header, and data as a view of what follows
// it. rest is the next segment of the packet, not read yet; nil if there is none. An accepted segment
// is consistent in itself: the data is within the message, and is empty only if the message is.
func ParseSegment(b []byte, m *Segment) (data, rest []byte, err error) {
	if len(b) < SegmentLen {
		return nil, nil, ErrShort
	}
	*m = Segment{
		Kind:         SegmentKind(b[0]),
		HasImmediate: b[1]&segmentImmediate != 0,
		Number:       binary.LittleEndian.Uint32(b[4:]),
		Immediate:    binary.LittleEndian.Uint32(b[8:]),
		Total:        binary.LittleEndian.Uint32(b[12:]),
		Offset:       binary.LittleEndian.Uint32(b[16:]),
		Recv:         binary.LittleEndian.Uint32(b[20:]),
	}
	joined, n := b[1]&segmentJoined != 0, int(binary.LittleEndian.Uint16(b[2:]))
	if m.Kind == 0 || m.Kind >= segmentEnd || b[1]&^(segmentImmediate|segmentJoined) != 0 || !joined && n != 0 {
		return nil, nil, ErrInvalid
	}
	data = b[SegmentLen:]
	if m.Kind.remote() {
		if len(b) < SegmentRemoteLen {
			return nil, nil, ErrShort
		}
		m.Addr = binary.LittleEndian.Uint64(b[24:])
		m.Handle = binary.LittleEndian.Uint64(b[32:])
		data = b[SegmentRemoteLen:]
	}
	if joined {
		if n >= len(data) {
			return nil, nil, ErrShort
		}
		data, rest = data[:n:n], data[n:]
	}
	if err := m.check(len(data)); err != nil {
		return nil, nil, err
	}
	return data, rest, nil
}

// check checks the fields of a segment with n bytes of data against each other.
func (m *Segment) check(n int) error {
	takes, fills := false, true
	switch m.Kind {
	case SegmentSend:
		takes = true
	case SegmentWrite:
		takes = m.HasImmediate
	case SegmentReadData:
		fills = !m.HasImmediate
	case SegmentReadRequest:
		return m.checkBare(n, m.Offset == 0 && !m.HasImmediate)
	case SegmentReadRefused:
		return m.checkBare(n, m.Offset == 0 && m.Total == 0 && !m.HasImmediate)
	case SegmentBye:
		return m.checkBare(n, m.Offset == 0 && m.Total == 0)
	}
	switch {
	case !fills, !takes && m.Recv != 0, !m.HasImmediate && m.Immediate != 0:
		return ErrInvalid
	case uint64(m.Offset)+uint64(n) > uint64(m.Total):
		return ErrLong
	case n == 0 && m.Total != 0:
		return ErrShort
	}
	return nil
}

// checkBare is check for the kinds without data.
func (m *Segment) checkBare(n int, ok bool) error {
	switch {
	case n > 0:
		return ErrLong
	case !ok, m.Recv != 0, !m.HasImmediate && m.Immediate != 0:
		return ErrInvalid
	}
	return nil
}

func (k SegmentKind) String() string {
	switch k {
	case SegmentSend:
		return "SEND"
	case SegmentWrite:
		return "WRITE"
	case SegmentReadRequest:
		return "READ_REQUEST"
	case SegmentReadData:
		return "READ_DATA"
	case SegmentReadRefused:
		return "READ_REFUSED"
	case SegmentBye:
		return "BYE"
	}
	return fmt.Sprintf("SegmentKind(%d)", uint8(k))
}

func (r Reason) String() string {
	switch r {
	case ReasonProtocol:
		return "protocol"
	case ReasonNoReceive:
		return "no-receive"
	case ReasonLength:
		return "length"
	case ReasonMemory:
		return "memory"
	case ReasonRDMA:
		return "rdma"
	}
	return fmt.Sprintf("Reason(%d)", uint32(r))
}

func (m Segment) String() string {
	s := fmt.Sprintf("%v number=%d", m.Kind, m.Number)
	switch m.Kind {
	case SegmentReadRefused:
	case SegmentBye:
		if m.HasImmediate {
			s += fmt.Sprintf(" reason=%v", Reason(m.Immediate))
		}
		return s
	default:
		s += fmt.Sprintf(" total=%d offset=%d", m.Total, m.Offset)
	}
	if m.HasImmediate {
		s += fmt.Sprintf(" immediate=%#x", m.Immediate)
	}
	if m.Kind == SegmentSend || m.Kind == SegmentWrite && m.HasImmediate {
		s += fmt.Sprintf(" recv=%d", m.Recv)
	}
	if m.Kind.remote() {
		s += fmt.Sprintf(" addr=%#x handle=%#x", m.Addr, m.Handle)
	}
	return s
}
