package wireshark

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/kernel"
)

// A datagram that was sent.
type datagram struct {
	from, to netip.AddrPort
	payload  []byte
}

// capture collects the datagrams that several devices send.
type capture struct {
	mu  sync.Mutex
	all []datagram
}

// open is a udp.Provider's Datagrams.
func (c *capture) open() (dgram.Device, error) {
	d, err := kernel.Open(kernel.Options{})
	if err != nil {
		return nil, err
	}
	return &tapped{Device: d, capture: c}, nil
}

// take returns the datagrams since the last call.
func (c *capture) take() []datagram {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// some reports whether a datagram since the last take has a property.
func (c *capture) some(has func(datagram) bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.all, has)
}

// tapped is a device whose sockets report what they send.
type tapped struct {
	*kernel.Device
	capture *capture
}

func (d *tapped) Open(at netip.AddrPort) (dgram.Socket, error) {
	s, err := d.Device.Open(at)
	if err != nil {
		return nil, err
	}
	return &tap{Socket: s, capture: d.capture}, nil
}

type tap struct {
	dgram.Socket
	capture *capture
}

func (s *tap) Send(batch []dgram.Packet) (int, error) {
	n, err := s.Socket.Send(batch)
	s.capture.mu.Lock()
	defer s.capture.mu.Unlock()
	for _, p := range batch[:n] {
		s.capture.all = append(s.capture.all, datagram{
			from:    netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), s.Addr().Port()),
			to:      p.To,
			payload: bytes.Join(p.Pieces, nil),
		})
	}
	return n, err
}

// pcap makes a capture file of datagrams over IPv4.
func pcap(all []datagram) []byte {
	const linkRaw = 101
	b := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, 1<<18)
	b = binary.LittleEndian.AppendUint32(b, linkRaw)
	for i, d := range all {
		size := 20 + 8 + len(d.payload)
		b = binary.LittleEndian.AppendUint32(b, 0)         // seconds
		b = binary.LittleEndian.AppendUint32(b, uint32(i)) // microseconds
		b = binary.LittleEndian.AppendUint32(b, uint32(size))
		b = binary.LittleEndian.AppendUint32(b, uint32(size))
		b = appendIPv4(b, d, size)
		b = binary.BigEndian.AppendUint16(b, d.from.Port())
		b = binary.BigEndian.AppendUint16(b, d.to.Port())
		b = binary.BigEndian.AppendUint16(b, uint16(8+len(d.payload)))
		b = append(b, 0, 0) // no checksum
		b = append(b, d.payload...)
	}
	return b
}

func appendIPv4(b []byte, d datagram, size int) []byte {
	const udp = 17
	b = append(b, 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(size))
	b = append(b, 0, 0, 0, 0, 64, udp, 0, 0)
	from, to := d.from.Addr().As4(), d.to.Addr().As4()
	b = append(b, from[:]...)
	return append(b, to[:]...)
}

// nowhere is an address that no known protocol has.
var nowhere = netip.MustParseAddrPort("127.0.0.1:47123")
