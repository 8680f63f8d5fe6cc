//go:build linux

package kernel

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// message is a control message as the kernel writes them, padded.
func message(length, level, kind int, data ...byte) []byte {
	b := binary.NativeEndian.AppendUint64(nil, uint64(length))
	b = binary.NativeEndian.AppendUint32(b, uint32(level))
	b = binary.NativeEndian.AppendUint32(b, uint32(kind))
	b = append(b, data...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func gro(size int32) []byte {
	return message(20, unix.IPPROTO_UDP, unix.UDP_GRO, binary.NativeEndian.AppendUint32(nil, uint32(size))...)
}

func TestControlMessages(t *testing.T) {
	other := message(17, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	for name, c := range map[string]struct {
		control []byte
		want    int
	}{
		"none":              {nil, 5000},
		"rest of one":       {make([]byte, 15), 5000},
		"a group":           {gro(1400), 1400},
		"behind another":    {append(other, gro(1400)...), 1400},
		"another":           {other, 5000},
		"no length":         {message(0, 0, 0), 0},
		"length too small":  {message(15, unix.IPPROTO_UDP, unix.UDP_GRO, 1, 2, 3, 4), 0},
		"length too large":  {message(25, unix.IPPROTO_UDP, unix.UDP_GRO, 1, 2, 3, 4), 0},
		"length negative":   {message(-1, unix.IPPROTO_UDP, unix.UDP_GRO, 1, 2, 3, 4), 0},
		"no data":           {message(16, unix.IPPROTO_UDP, unix.UDP_GRO), 0},
		"data too short":    {message(19, unix.IPPROTO_UDP, unix.UDP_GRO, 1, 2, 3), 0},
		"negative size":     {gro(-5), -5},
		"size of nothing":   {gro(0), 0},
		"another, unpadded": {other[:17], 5000},
	} {
		assert.Equal(t, c.want, saidIn(c.control, 5000).size, name)
	}
}

func FuzzControlMessages(f *testing.F) {
	f.Add(gro(1400))
	f.Add(append(message(17, 1, 40, 1), gro(9)...))
	f.Fuzz(func(_ *testing.T, b []byte) { saidIn(b, 100) })
}

func TestWhatMakesNoSenseIsDropped(t *testing.T) {
	s := bound(t, open(t, Options{}), loopback4)
	in := &s.d.in
	size := s.d.zones.write(&in.names[0], s.Addr(), s.family)
	a := &room(1)[0]
	good := coming{buf: a.Buf, bytes: 3000, size: 1400, from: size}
	for name, change := range map[string]func(*coming){
		"no size":        func(c *coming) { c.size = 0 },
		"negative size":  func(c *coming) { c.size = -1 },
		"negative bytes": func(c *coming) { c.bytes = -1 },
		"no sender":      func(c *coming) { c.from = 0 },
	} {
		bad := good
		change(&bad)
		before := s.stats
		before.Odd++
		require.Zero(t, s.arrived(a, bad), name)
		require.Equal(t, before, s.stats, name)
	}
	require.Equal(t, 1, s.arrived(a, good))
	assert.Equal(t, s.Addr(), a.From)
	assert.Equal(t, []int{3000, 1400}, []int{a.Len, a.Size})
	assert.EqualValues(t, 3, s.stats.ReceivedGrouped)

	lone := good
	lone.size = 4000
	require.Equal(t, 1, s.arrived(a, lone))
	assert.Equal(t, 3000, a.Size, "a group of one")

	short := dgram.Arrival{Buf: make([]byte, 1500)}
	require.Equal(t, 1, s.arrived(&short, good), "moved to less room")
	assert.Equal(t, 1400, short.Len)
	assert.EqualValues(t, 2, s.stats.Truncated)

	in.offer(1, a.Buf)
	in.messages[1].header.Flags = unix.MSG_CTRUNC
	assert.Zero(t, in.read(1, 100))
	in.messages[1].header.Flags = 0
	in.messages[1].header.Controllen = controlBytes + 1
	assert.Zero(t, in.read(1, 100))
}
