//go:build linux

package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// Limits of one system call.
const (
	messagesMax = 64 // the kernel's is 1024 (UIO_MAXIOV)
	piecesMax   = 1024
	// groupMax is the kernel's limit of packets in a group (UDP_MAX_SEGMENTS, which
	// is 128 since Linux 6.9).
	groupMax = 64
	// groupBytesMax is the payload of the largest UDP packet with an IPv6 header; a
	// group has the same limit.
	groupBytesMax = 65535 - 40 - 8
)

// outgoing is scratch memory of Send: messages for the kernel, each of one packet
// or of a group.
type outgoing struct {
	messages [messagesMax]mmsghdr
	names    [messagesMax]name
	controls [messagesMax]control
	packets  [messagesMax]int // number of packets of each message
	pieces   [piecesMax]unix.Iovec
	count    int // of messages
	used     int // of pieces
	total    int // bytes

	small [smallMax]byte
}

// join sets the pointers from messages to their parts.
func (o *outgoing) join() {
	for i := range o.messages {
		o.messages[i].header.Name = (*byte)(unsafe.Pointer(&o.names[i]))
		o.controls[i].init()
	}
}

// release forgets the messages and drops the references to the pieces, whose memory
// is the caller's.
func (o *outgoing) release() {
	clear(o.pieces[:o.used])
	o.count, o.used, o.total = 0, 0, 0
}

// plan makes messages from packets at the front of batch, as far as there is room
// and up to the first packet that cannot be sent. It returns the number of packets.
func (s *socket) plan(batch []dgram.Packet) (planned int) {
	o := &s.d.out
	for planned < len(batch) && o.count < messagesMax {
		p := &batch[planned]
		bytes := payload(p)
		if bytes == 0 || o.used+len(p.Pieces) > piecesMax {
			break
		}
		i := o.count
		nameLen := s.d.zones.write(&o.names[i], p.To, s.family)
		if nameLen == 0 {
			break
		}
		first := o.used
		o.gather(p)
		packets, total := 1, bytes
		if s.canGroup {
			packets, total = o.group(batch[planned:], bytes)
		}
		h := &o.messages[i].header
		h.Namelen = nameLen
		h.Iov = &o.pieces[first]
		h.SetIovlen(o.used - first)
		segment := 0
		if packets > 1 {
			segment = bytes
		}
		o.controls[i].attach(h, segment, p.From, s.family)
		o.packets[i] = packets
		o.count++
		o.total += total
		planned += packets
	}
	return planned
}

// group gathers the packets that can go in a group with the first one of batch,
// which has size bytes. It returns the number of packets and bytes of the group.
func (o *outgoing) group(batch []dgram.Packet, size int) (packets, total int) {
	packets, total = 1, size
	for packets < min(len(batch), groupMax) {
		p := &batch[packets]
		if p.To != batch[0].To || p.From != batch[0].From || o.used+len(p.Pieces) > piecesMax {
			break
		}
		bytes := payload(p)
		if bytes == 0 || bytes > size || total+bytes > groupBytesMax {
			break
		}
		o.gather(p)
		packets++
		total += bytes
		if bytes < size {
			break // only the last one may be shorter
		}
	}
	return packets, total
}

// gather lists the pieces that are not empty.
func (o *outgoing) gather(p *dgram.Packet) {
	for _, b := range p.Pieces {
		if len(b) > 0 {
			o.pieces[o.used].Base = &b[0]
			o.pieces[o.used].SetLen(len(b))
			o.used++
		}
	}
}

// payload is the size of a packet; 0 if it cannot be sent.
func payload(p *dgram.Packet) (bytes int) {
	if len(p.Pieces) > dgram.PiecesMax {
		return 0
	}
	for _, b := range p.Pieces {
		bytes += len(b)
	}
	return bytes
}
