package vipltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

var nicTests = []Test{
	{"HardwareConnection/Query", testQueryNIC},
	{"HardwareConnection/NameTaken", testNameTaken},
	{"HardwareConnection/CloseEndsEverything", testCloseNIC},
	{"HardwareConnection/CloseIsSeenByTheOtherSide", testCloseSeen},
	{"VirtualInterface/Query", testQueryVI},
	{"VirtualInterface/Attributes", testVIAttributes},
	{"VirtualInterface/Destroy", testDestroyVI},
}

func testQueryNIC(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	q := p.a.n.Query()
	assert.Equal(t, s.Provider.Name(), q.Provider)
	assert.Equal(t, p.a.name, q.Address)
	assert.Positive(t, q.Caps.MTUBytes)
	assert.Positive(t, q.Caps.SegmentsMax)
	assert.LessOrEqual(t, q.Caps.InlineBytesMax, nic.InlineMax)
	assert.Equal(t, vipl.PrivateMax, q.PrivateMax)
	info := p.a.n.SystemInfo()
	assert.Equal(t, [4]int{1, 1, 1, 1}, [4]int{info.VIs, info.CQs, info.Regions, info.Ptags})

	anonymous, err := vipl.OpenNIC(s.Provider, vipl.NICConfig{Clock: s.Clock})
	require.NoError(t, err)
	assert.NotEmpty(t, anonymous.LocalAddr(), "a NIC that nobody can connect to still has a name")
	require.NoError(t, anonymous.Close())
}

func testNameTaken(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	_, err := vipl.OpenNIC(s.Provider, vipl.NICConfig{Listen: p.a.name, Clock: s.Clock})
	require.ErrorIs(t, err, nic.ErrNameTaken)
	require.NoError(t, p.a.n.Close())
	again, err := vipl.OpenNIC(s.Provider, vipl.NICConfig{Listen: p.a.name, Clock: s.Clock})
	require.NoError(t, err, "the name is free when its NIC is closed")
	require.NoError(t, again.Close())
}

func testCloseNIC(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	require.NoError(t, p.a.n.Close())
	require.NoError(t, p.a.n.Close(), "closing twice is harmless")
	_, err := p.a.n.CreatePtag()
	require.ErrorIs(t, err, vipl.ErrInvalidState)
	_, err = p.a.n.CreateVI(vipl.VIAttributes{}, nil, nil)
	require.ErrorIs(t, err, vipl.ErrInvalidState)
	require.Error(t, p.a.vi.PostRecv(vipl.FillRecv(&vipl.Descriptor{}, p.a.mem.Segment(0, 8))))
	require.Error(t, p.a.vi.ConnectStart(p.b.addr(), vipl.ConnectOptions{}))
	assert.False(t, p.a.n.Poll())
	assert.NoError(t, p.a.mem.Deregister())
	assert.NoError(t, p.a.vi.Destroy())
}

func testCloseSeen(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	d := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, 64))
	p.recv(p.b, d)
	require.NoError(t, p.a.n.Close())
	assert.Equal(t, nic.StatusFlushed, p.ended(p.b, d))
	require.Error(t, p.event(p.b, vipl.EventDisconnected).Err)
	assert.Equal(t, vipl.Error, p.b.vi.State())
}

func testQueryVI(t *testing.T, s Setup) {
	p := newPair(t, s, options{reliability: nic.ReliableDelivery, depth: 8})
	q := p.a.vi.Query()
	assert.Equal(t, vipl.Idle, q.State)
	assert.Equal(t, p.a.tag, q.Attributes.Tag)
	assert.Equal(t, nic.ReliableDelivery, q.Attributes.Reliability)
	assert.True(t, q.SendQueueEmpty)
	assert.True(t, q.RecvQueueEmpty)
	p.recv(p.a, vipl.FillRecv(&vipl.Descriptor{}, p.a.mem.Segment(0, 8)))
	assert.False(t, p.a.vi.Query().RecvQueueEmpty)
	p.connect()
	assert.Equal(t, vipl.Connected, p.a.vi.Query().State)
	assert.Equal(t, p.b.n.LocalAddr(), p.a.vi.Query().Remote.Host)
	assert.Equal(t, p.a.n.LocalAddr(), p.b.vi.Query().Remote.Host)
}

func testVIAttributes(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	caps := p.a.n.Caps()
	_, err := p.a.n.CreateVI(vipl.VIAttributes{Tag: p.a.tag, Reliability: caps.Reliability + 1}, nil, nil)
	require.ErrorIs(t, err, vipl.ErrInvalidReliability)
	_, err = p.a.n.CreateVI(vipl.VIAttributes{Tag: p.a.tag, MaxTransfer: caps.MTUBytes + 1}, nil, nil)
	require.ErrorIs(t, err, vipl.ErrInvalidMTU)
	_, err = p.a.n.CreateVI(vipl.VIAttributes{Tag: p.a.tag + 77}, nil, nil)
	require.ErrorIs(t, err, vipl.ErrInvalidPtag)
	_, err = p.a.n.CreateVI(vipl.VIAttributes{Tag: p.a.tag, RecvDepth: caps.RecvDepthMax + 1}, nil, nil)
	require.ErrorIs(t, err, vipl.ErrInvalidParameter)
	_, err = p.a.n.CreateVI(vipl.VIAttributes{Tag: p.a.tag}, p.b.cq, nil)
	require.ErrorIs(t, err, vipl.ErrInvalidParameter)
	if !caps.RDMARead {
		_, err = p.a.n.CreateVI(vipl.VIAttributes{Tag: p.a.tag, RemoteRead: true}, nil, nil)
		require.ErrorIs(t, err, vipl.ErrInvalidRDMARead)
	}

	attrs := p.a.vi.Query().Attributes
	attrs.RecvDepth = 4
	require.NoError(t, p.a.vi.SetAttributes(attrs))
	assert.Equal(t, 4, p.a.vi.Query().Attributes.RecvDepth)
	p.connect()
	require.ErrorIs(t, p.a.vi.SetAttributes(attrs), vipl.ErrInvalidState)
}

func testDestroyVI(t *testing.T, s Setup) {
	p := connected(t, s, options{})
	require.ErrorIs(t, p.a.vi.Destroy(), vipl.ErrInvalidState, "while connected")
	require.NoError(t, p.a.vi.Disconnect())
	p.event(p.a, vipl.EventDisconnected)
	require.ErrorIs(t, p.a.cq.Destroy(), vipl.ErrResource, "while the VI uses it")
	require.NoError(t, p.a.vi.Destroy())
	require.NoError(t, p.a.cq.Destroy())
	assert.Equal(t, vipl.Destroyed, p.a.vi.State())
	require.ErrorIs(t, p.a.vi.Destroy(), vipl.ErrInvalidState)
	require.ErrorIs(t, p.a.vi.PostRecv(&vipl.Descriptor{}), vipl.ErrInvalidState)
	assert.Zero(t, p.a.n.SystemInfo().VIs)
}
