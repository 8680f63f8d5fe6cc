package wireshark

import (
	"bytes"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

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

// pcap makes a capture file of datagrams over IPv4, a microsecond apart.
func pcap(t *testing.T, all []datagram) []byte {
	t.Helper()
	var file bytes.Buffer
	w := pcapgo.NewWriter(&file)
	require.NoError(t, w.WriteFileHeader(1<<18, layers.LinkTypeRaw))
	for i, d := range all {
		packet := gopacket.NewSerializeBuffer()
		ip := &layers.IPv4{
			Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP,
			SrcIP: d.from.Addr().AsSlice(), DstIP: d.to.Addr().AsSlice(),
		}
		udp := &layers.UDP{SrcPort: layers.UDPPort(d.from.Port()), DstPort: layers.UDPPort(d.to.Port())}
		require.NoError(t, udp.SetNetworkLayerForChecksum(ip))
		how := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
		require.NoError(t, gopacket.SerializeLayers(packet, how, ip, udp, gopacket.Payload(d.payload)))
		b := packet.Bytes()
		info := gopacket.CaptureInfo{Timestamp: time.UnixMicro(int64(i)), CaptureLength: len(b), Length: len(b)}
		require.NoError(t, w.WritePacket(info, b))
	}
	return file.Bytes()
}

// nowhere is an address that no known protocol has.
var nowhere = netip.MustParseAddrPort("127.0.0.1:47123")
