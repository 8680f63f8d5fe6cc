package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// errCapture is for a file that is not a capture, or that was cut off.
var errCapture = errors.New("replay: not a whole capture")

// Sizes and numbers of the formats around TCP segments.
const (
	fileHeader   = 24
	recordHeader = 16
	ipv4Header   = 20
	tcpHeader    = 20
	protoTCP     = 6
	linkEthernet = 1
	linkCooked   = 113
	flagSYN      = 2
)

// segment is the data of one packet in one direction of a connection.
type segment struct {
	at       float64 // seconds
	src, dst uint16
	seq      uint32
	syn      bool
	data     []byte // a view of the file
}

// segments are the TCP segments over IPv4 in a capture.
func segments(file []byte) ([]segment, error) {
	if len(file) < fileHeader {
		return nil, errCapture
	}
	var unit float64
	switch binary.LittleEndian.Uint32(file) {
	case 0xa1b2c3d4:
		unit = 1e6
	case 0xa1b23c4d:
		unit = 1e9
	default:
		return nil, fmt.Errorf("%w: unknown magic number", errCapture)
	}
	skip := 0
	switch link := binary.LittleEndian.Uint32(file[20:]); link {
	case linkEthernet:
		skip = 14
	case linkCooked:
		skip = 16
	}
	var all []segment
	for o := fileHeader; o < len(file); {
		if len(file)-o < recordHeader {
			return nil, errCapture
		}
		sec := binary.LittleEndian.Uint32(file[o:])
		frac := binary.LittleEndian.Uint32(file[o+4:])
		kept := int(binary.LittleEndian.Uint32(file[o+8:]))
		whole := int(binary.LittleEndian.Uint32(file[o+12:]))
		o += recordHeader
		if kept != whole || kept > len(file)-o {
			return nil, errCapture
		}
		packet := file[o : o+kept]
		o += kept
		if s, ok := parseSegment(packet[min(skip, len(packet)):]); ok {
			s.at = float64(sec) + float64(frac)/unit
			all = append(all, s)
		}
	}
	return all, nil
}

// parseSegment parses an IPv4 packet. It skips packets without a TCP segment.
func parseSegment(p []byte) (segment, bool) {
	if len(p) < ipv4Header || p[0]>>4 != 4 || p[9] != protoTCP {
		return segment{}, false
	}
	head, total := int(p[0]&15)*4, int(binary.BigEndian.Uint16(p[2:]))
	if total == 0 { // segmentation was left to the device
		total = len(p)
	}
	if head < ipv4Header || total > len(p) || total < head+tcpHeader {
		return segment{}, false
	}
	t := p[head:total]
	data := int(t[12]>>4) * 4
	if data < tcpHeader || data > len(t) {
		return segment{}, false
	}
	return segment{
		src:  binary.BigEndian.Uint16(t),
		dst:  binary.BigEndian.Uint16(t[2:]),
		seq:  binary.BigEndian.Uint32(t[4:]),
		syn:  t[13]&flagSYN != 0,
		data: t[data:],
	}, true
}

// stream is one direction of a connection, assembled from segments in any order.
type stream struct {
	started bool
	next    uint32
	pending map[uint32]segment
	data    []byte
	ends    []mark
}

// mark is the time by which the bytes below end had arrived.
type mark struct {
	end int
	at  float64
}

// add adds one segment.
func (s *stream) add(g segment) {
	if g.syn {
		s.started, s.next = true, g.seq+1
		return
	}
	if !s.started {
		s.started, s.next = true, g.seq
	}
	if len(g.data) == 0 {
		return
	}
	if s.pending == nil {
		s.pending = make(map[uint32]segment)
	}
	s.pending[g.seq] = g
	for s.takeOne() {
	}
}

// takeOne appends one pending segment that continues the stream.
func (s *stream) takeOne() bool {
	for seq, g := range s.pending {
		old := s.next - seq // bytes of it that the stream has already
		if old >= 1<<31 {
			continue // it comes later
		}
		delete(s.pending, seq)
		if int(old) < len(g.data) {
			fresh := g.data[old:]
			s.data = append(s.data, fresh...)
			s.ends = append(s.ends, mark{len(s.data), g.at})
			s.next += uint32(len(fresh))
		}
		return true
	}
	return false
}

// when is the time by which the first n bytes had arrived.
func (s *stream) when(n int) float64 {
	for _, m := range s.ends {
		if m.end >= n {
			return m.at
		}
	}
	return 0
}
