//go:build linux

package kernel

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

const (
	// streakMany is how many calls in a row must find something before Recv asks
	// for many messages at once. Asking for many costs more if only one is there,
	// and then latency matters.
	streakMany = 2
	// vainMax is how many system calls one Recv spends on unusable arrivals:
	// empty ones, too large ones, errors.
	vainMax = 256
	// controlBytes is room for the control messages of a packet: 24 and 40 bytes.
	controlBytes = 64
)

// incoming is scratch memory of Recv.
type incoming struct {
	messages [messagesMax]mmsghdr
	names    [messagesMax]name
	control  [messagesMax][controlBytes]byte
	pieces   [messagesMax]unix.Iovec
	size     uint32
}

// join sets the pointers from messages to their parts.
func (in *incoming) join() {
	for i := range in.messages {
		h := &in.messages[i].header
		h.Name = (*byte)(unsafe.Pointer(&in.names[i]))
		h.Iov = &in.pieces[i]
		h.SetIovlen(1)
	}
}

// Recv implements dgram.Socket.
func (s *socket) Recv(batch []dgram.Arrival) int {
	if s.fd < 0 || len(batch) == 0 {
		return 0
	}
	for range vainMax {
		n, no := s.pull(batch)
		if no == unix.EAGAIN {
			s.streak = 0
			return 0
		}
		// Any other error concerns one packet, or reports an ICMP message; the
		// kernel returns it once.
		if n > 0 {
			s.streak = min(s.streak+1, streakMany)
			if s.watched {
				s.polled()
			}
			return n
		}
	}
	return 0
}

// pull receives with one system call.
func (s *socket) pull(batch []dgram.Arrival) (int, syscall.Errno) {
	s.stats.RecvCalls++
	switch {
	case s.streak >= streakMany && len(batch) > 1:
		return s.pullMany(batch)
	case s.joins || s.tells:
		return s.pullMany(batch[:1])
	}
	in := &s.d.in
	in.size = uint32(unsafe.Sizeof(in.names[0]))
	n, no := recvFrom(s.fd, batch[0].Buf, &in.names[0], &in.size)
	if no != 0 {
		return 0, no
	}
	return s.arrived(&batch[0], coming{buf: batch[0].Buf, bytes: n, size: n, from: in.size}), 0
}

// pullMany is pull with several messages.
func (s *socket) pullMany(batch []dgram.Arrival) (int, syscall.Errno) {
	in := &s.d.in
	count := min(len(batch), messagesMax)
	for i := range batch[:count] {
		in.offer(i, batch[i].Buf)
	}
	came, no := recvMessages(s.fd, in.messages[:count])
	n := 0
	for i := range in.messages[:came] {
		m := &in.messages[i]
		bytes := int(m.n)
		said := in.read(i, bytes)
		n += s.arrived(&batch[n], coming{i, batch[i].Buf, bytes, said.size, m.header.Namelen, said.to})
	}
	for i := range in.pieces[:count] {
		in.pieces[i].Base = nil // the memory is the caller's
	}
	if s.canJoin && n > 1 && batch[n-1].Size >= dgram.PayloadMin {
		s.join()
	}
	return n, no
}

// offer gives the kernel room for message i.
func (in *incoming) offer(i int, room []byte) {
	h := &in.messages[i].header
	h.Namelen = uint32(unsafe.Sizeof(in.names[i]))
	h.Control = &in.control[i][0]
	h.SetControllen(controlBytes)
	h.Flags = 0
	in.pieces[i].Base = unsafe.SliceData(room)
	in.pieces[i].SetLen(len(room))
}
