package vipl

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A countingStub is a stub that counts, and so do its ports: each as many segments
// as there were ports.
type countingStub struct{ *stub }

type countingPort struct {
	nic.Port
	segments uint64
}

func (s countingStub) Open(nic.Config) (nic.Device, error) { return s, nil }

func (s countingStub) OpenPort(attrs nic.PortAttrs, cookie any) (nic.Port, error) {
	p, err := s.stub.OpenPort(attrs, cookie)
	return countingPort{p, uint64(len(s.ports))}, err
}

func (s countingStub) LinkStats() netstats.Link {
	return netstats.Link{Retransmitted: 5, RoundTripP99: time.Millisecond}
}

func (s countingStub) PacketStats() netstats.Packets { return netstats.Packets{BytesSent: 6} }
func (p countingPort) LinkStats() netstats.Link      { return netstats.Link{SegmentsSent: p.segments} }

func TestStatsOfTheDevice(t *testing.T) {
	n, err := OpenNIC(countingStub{&stub{caps: stubCaps}}, NICConfig{})
	require.NoError(t, err)
	tag, err := n.CreatePtag()
	require.NoError(t, err)
	for i := range uint64(2) {
		vi, err := n.CreateVI(VIAttributes{Tag: tag}, nil, nil)
		require.NoError(t, err)
		assert.Equal(t, netstats.Link{SegmentsSent: i + 1}, nic.LinkStatsOf(vi.Port()))
	}
	info := n.SystemInfo()
	assert.Equal(t, netstats.Link{Retransmitted: 5, RoundTripP99: time.Millisecond}, info.Link)
	assert.Equal(t, netstats.Packets{BytesSent: 6}, info.Packets)

	silent, err := OpenNIC(&stub{caps: stubCaps}, NICConfig{})
	require.NoError(t, err)
	assert.Zero(t, silent.SystemInfo().Link)
	assert.Zero(t, silent.SystemInfo().Packets)
}
