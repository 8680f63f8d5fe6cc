//go:build linux

package kernel

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// smallMax is the largest packet whose pieces are copied into one, because sendto
// costs less than sendmsg.
const smallMax = 2048

// Send implements dgram.Socket.
func (s *socket) Send(batch []dgram.Packet) (int, error) {
	if s.fd < 0 {
		return 0, dgram.ErrClosed
	}
	taken := 0
	for taken < len(batch) {
		var n int
		var full bool
		if taken == len(batch)-1 {
			n, full = s.sendOne(&batch[taken])
		} else {
			n, full = s.sendSome(batch[taken:])
		}
		taken += n
		if full {
			s.stats.Full++
			s.setFull(true)
			return taken, dgram.ErrAgain
		}
	}
	s.setFull(false)
	return taken, nil
}

// sendOne sends a packet alone. It takes 1, unless the socket is full.
func (s *socket) sendOne(p *dgram.Packet) (taken int, full bool) {
	p.TooBig = false
	o := &s.d.out
	bytes := payload(p)
	size := s.d.zones.write(&o.names[0], p.To, s.family)
	if bytes == 0 || size == 0 {
		s.stats.Unsent++
		return 1, false
	}
	no := s.push(p, bytes, size, p.From)
	if p.From.IsValid() && no != 0 && no != unix.EAGAIN && no != unix.EMSGSIZE {
		// The address may no longer be this machine's. The other side learns the
		// new one from this packet.
		no = s.push(p, bytes, size, netip.Addr{})
	}
	if no == unix.EAGAIN {
		return 0, true
	}
	if no != 0 {
		s.failed(p, no)
		return 1, false
	}
	s.stats.Sent++
	s.stats.SentBytes += uint64(bytes)
	return 1, false
}

// push sends a packet to names[0] with one system call.
func (s *socket) push(p *dgram.Packet, bytes int, size uint32, from netip.Addr) syscall.Errno {
	o := &s.d.out
	var one []byte
	switch {
	case from.IsValid(): // sendto has no source address
	case len(p.Pieces) == 1:
		one = p.Pieces[0]
	case bytes <= smallMax:
		one = o.small[:0]
		for _, b := range p.Pieces {
			one = append(one, b...)
		}
	}
	for {
		s.stats.SendCalls++
		var no syscall.Errno
		if one != nil {
			no = sendTo(s.fd, one, &o.names[0], size)
		} else {
			o.gather(p)
			h := &o.messages[0].header
			h.Namelen, h.Iov = size, &o.pieces[0]
			h.SetIovlen(o.used)
			o.controls[0].attach(h, 0, from, s.family)
			_, no = sendMessages(s.fd, o.messages[:1], bytes)
			o.release()
		}
		if no != unix.EINTR {
			return no
		}
	}
}

// sendSome sends packets from the front of batch with one system call. It takes
// at least one, unless the socket is full.
func (s *socket) sendSome(batch []dgram.Packet) (taken int, full bool) {
	o := &s.d.out
	if s.plan(batch) <= 1 {
		o.release()
		return s.sendOne(&batch[0]) // it also finds out what is wrong with the packet
	}
	s.stats.SendCalls++
	sent, no := sendMessages(s.fd, o.messages[:o.count], o.total)
	for _, packets := range o.packets[:sent] {
		s.sent(batch[taken : taken+packets])
		taken += packets
	}
	first := o.packets[0]
	o.release()
	if sent == 0 && no == 0 {
		no = unix.EIO // this never happens, but must not loop for ever
	}
	switch {
	case no == 0 || no == unix.EINTR:
		return taken, false
	case no == unix.EAGAIN:
		return taken, true
	case first > 1:
		return s.separate(batch[:first], no)
	}
	if batch[0].From.IsValid() {
		return s.sendOne(&batch[0]) // it has a fallback
	}
	batch[0].TooBig = false
	s.failed(&batch[0], no)
	return 1, false
}

// sent counts the packets of a message that was sent.
func (s *socket) sent(packets []dgram.Packet) {
	for i := range packets {
		packets[i].TooBig = false
		s.stats.SentBytes += uint64(payload(&packets[i]))
	}
	s.stats.Sent += uint64(len(packets))
	if len(packets) > 1 {
		s.stats.SentGrouped += uint64(len(packets))
	}
}
