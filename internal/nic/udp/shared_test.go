package udp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// segmentsOf returns the number of segments in a packet of an insecure connection; 0 if
// it is something else.
func segmentsOf(t *testing.T, packet []byte) (n int) {
	if kind, _ := wire.KindOf(packet); kind != wire.KindPacket {
		return 0
	}
	_, payload, err := wire.ParsePacket(packet)
	require.NoError(t, err)
	var transport wire.Transport
	rest, err := transport.Parse(payload[:len(payload)-wire.SumLen])
	require.NoError(t, err)
	for ; rest != nil; n++ {
		_, rest, err = wire.ParseSegment(rest, &wire.Segment{})
		require.NoError(t, err)
	}
	return n
}

// A sharing is a connection with a filter that sees how many segments each packet has.
type sharing struct {
	*counted
	packets []int // segments of each packet of the first device on the priority lane that has any
	largest int   // bytes of the largest of them
	lose    func(n int) bool
}

func newSharing(t *testing.T, o simdgram.Options) *sharing {
	s := &sharing{counted: &counted{t: t, w: udptest.New(1, sim.LinkOptions{DelayMin: countedDelay}, o, udp.Provider{Insecure: true})}}
	for i := range s.d {
		var err error
		s.d[i], err = s.w.Open(nic.Config{Listen: s.w.NewName(), Clock: s.w.Clock})
		require.NoError(t, err)
	}
	s.connect(200)
	s.w.Net.SetFilter(func(d simdgram.Datagram) bool {
		n := segmentsOf(t, d.Payload)
		if n == 0 || d.From.String() != s.d[0].LocalAddr() {
			return true
		}
		s.packets = append(s.packets, n)
		s.largest = max(s.largest, len(d.Payload))
		return s.lose == nil || !s.lose(n)
	})
	return s
}

// The first send goes out at once, those that are posted before the next Poll go
// together, and one that is too large for that goes alone.
func TestSendsBetweenTwoPollsShareAPacket(t *testing.T) {
	s := newSharing(t, simdgram.Options{MTUBytes: 65507})
	s.send(20, 64)
	assert.Equal(t, []int{1, 19}, s.packets)
	s.packets = nil
	s.send(1, 64)
	s.send(1, 64)
	assert.Equal(t, []int{1, 1}, s.packets, "one after the other")
	s.packets = nil
	s.send(50, 1000)
	total := 0
	for _, n := range s.packets {
		total += n
	}
	assert.Equal(t, 50, total)
	assert.Equal(t, 7, s.packets[1], "as many as 8 KiB have room for")
	assert.LessOrEqual(t, s.largest, 8<<10)
	s.packets = nil
	s.send(20, 8000)
	assert.Empty(t, s.packets, "they go on the other lane")
}

func TestSharedPacketsFitThePath(t *testing.T) {
	const mtu = 1472
	s := newSharing(t, simdgram.Options{MTUBytes: mtu})
	s.send(100, 64)
	assert.LessOrEqual(t, s.largest, mtu)
	assert.Greater(t, s.largest, mtu-wire.SegmentLen-64, "it is used")
	assert.Less(t, len(s.packets), 100/10)
}

// The segments of a lost packet are sent again, together, each once, and nothing waits for
// a time-out if a later packet arrives.
func TestALostSharedPacketIsSharedAgain(t *testing.T) {
	s := newSharing(t, simdgram.Options{MTUBytes: 1472})
	lost := 0
	s.lose = func(n int) bool {
		if lost == 0 && n > 1 {
			lost = n
			return true
		}
		return false
	}
	s.send(60, 64)
	require.Greater(t, lost, 5)
	again := nic.LinkStatsOf(s.p[0])
	assert.EqualValues(t, lost, again.Retransmitted)
	assert.Zero(t, again.TimedOut)
	assert.Equal(t, lost, s.packets[len(s.packets)-1])
	got := nic.LinkStatsOf(s.p[1])
	assert.EqualValues(t, 60, got.SegmentsReceived)
	assert.Zero(t, got.Duplicates)
}

// Messages are lent from the memory into which they were received, up to a limit. Afterwards the
// memory comes back.
func TestMessagesAreLentFromWhereTheyArrived(t *testing.T) {
	s := newSharing(t, simdgram.Options{MTUBytes: 1472})
	var kept []*nic.Descriptor
	port := s.p[1]
	for range 150 { // one by one, so that each has its own datagram
		d := &nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: make([]byte, 100)}}}
		d.Segments[0].Data[0] = byte(len(kept))
		_, err := s.p[0].PostSend(d)
		require.NoError(t, err)
		var out [8]nic.Event
		for came := false; !came; {
			require.True(t, s.w.Step())
			s.d[0].Poll(out[:])
			for _, e := range out[:s.d[1].Poll(out[:])] {
				if e.Kind == nic.EventRecv {
					came = true
					kept = append(kept, e.Desc)
				}
			}
		}
	}
	for i, d := range kept {
		require.Equal(t, byte(i), d.Data[0], "nothing that arrived later is in its place")
		require.NoError(t, port.PostRecv(d))
	}
	s.disconnect()
	for _, d := range s.d {
		require.NoError(t, d.Close())
	}
	s.w.Sim.RunFor(time.Second)
	for _, d := range s.w.Devices() {
		require.Empty(t, d.LeftBehind())
	}
}
