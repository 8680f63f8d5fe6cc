package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// errCapture is for a file that is not a capture, or that was cut off.
var errCapture = errors.New("replay: not a whole capture")

// segment is the data of one packet in one direction of a connection.
type segment struct {
	at       float64 // seconds
	src, dst uint16
	seq      uint32
	syn      bool
	data     []byte
}

// segments are the TCP segments over IPv4 in a capture.
func segments(file []byte) ([]segment, error) {
	r, err := pcapgo.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCapture, err)
	}
	var all []segment
	for {
		b, info, err := r.ReadPacketData()
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errCapture, err)
		case info.CaptureLength != info.Length:
			return nil, fmt.Errorf("%w: a packet was cut off", errCapture)
		}
		if s, ok := parseSegment(gopacket.NewPacket(b, r.LinkType(), gopacket.DecodeOptions{Lazy: true, NoCopy: true})); ok {
			s.at = float64(info.Timestamp.UnixNano()) / 1e9
			all = append(all, s)
		}
	}
}

// parseSegment takes the TCP segment out of a packet. It skips packets without one over IPv4.
func parseSegment(p gopacket.Packet) (segment, bool) {
	t, ok := p.Layer(layers.LayerTypeTCP).(*layers.TCP)
	if !ok || p.Layer(layers.LayerTypeIPv4) == nil || p.Metadata().Truncated {
		return segment{}, false
	}
	return segment{src: uint16(t.SrcPort), dst: uint16(t.DstPort), seq: t.Seq, syn: t.SYN, data: t.Payload}, true
}

// stream is one direction of a connection, assembled from segments in any order.
type stream struct {
	started bool
	next    uint32
	pending map[uint32]segment
	data    []byte
	ends    []mark
}

// A mark is the time at which all bytes before end had arrived.
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

// when returns the time at which the first n bytes had arrived.
func (s *stream) when(n int) float64 {
	for _, m := range s.ends {
		if m.end >= n {
			return m.at
		}
	}
	return 0
}
