package vipltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

var memoryTests = []Test{
	{"MemoryProtection/Ptags", testPtags},
	{"MemoryRegistration/RegisterAndDeregister", testRegister},
	{"MemoryRegistration/SetAttributes", testSetMemAttributes},
	{"MemoryProtection/SendFromForeignMemory", testSendProtection},
}

func testPtags(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	other, err := p.a.n.CreatePtag()
	require.NoError(t, err)
	assert.NotEqual(t, p.a.tag, other)
	require.ErrorIs(t, p.a.n.DestroyPtag(p.a.tag), vipl.ErrResource, "a VI and memory use it")
	require.NoError(t, p.a.n.DestroyPtag(other))
	require.ErrorIs(t, p.a.n.DestroyPtag(other), vipl.ErrInvalidPtag)
	_, err = p.a.n.RegisterMem(make([]byte, 64), vipl.MemAttributes{Tag: other})
	require.ErrorIs(t, err, vipl.ErrInvalidPtag)
	require.NoError(t, p.a.mem.Deregister())
	require.NoError(t, p.a.vi.Destroy())
	require.NoError(t, p.a.n.DestroyPtag(p.a.tag))
}

func testRegister(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	_, err := p.a.n.RegisterMem(nil, vipl.MemAttributes{Tag: p.a.tag})
	require.ErrorIs(t, err, vipl.ErrInvalidParameter)
	seen := map[vipl.Handle]bool{0: true, p.a.mem.Handle: true}
	for range 20 {
		m, err := p.a.n.RegisterMem(make([]byte, 100), vipl.MemAttributes{Tag: p.a.tag})
		require.NoError(t, err)
		assert.False(t, seen[m.Handle], "a handle names one registration")
		seen[m.Handle] = true
		if len(seen)%2 == 0 {
			require.NoError(t, m.Deregister())
			require.ErrorIs(t, m.Deregister(), vipl.ErrInvalidParameter)
		}
	}
	overlap, err := p.a.n.RegisterMem(p.a.mem.Data[100:200], vipl.MemAttributes{Tag: p.a.tag})
	require.NoError(t, err, "ranges may overlap")
	require.NoError(t, overlap.Deregister())
}

func testSetMemAttributes(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	other, err := p.a.n.CreatePtag()
	require.NoError(t, err)
	require.NoError(t, p.a.mem.SetAttributes(vipl.MemAttributes{Tag: other}))
	assert.Equal(t, vipl.MemAttributes{Tag: other}, p.a.mem.Query())
	require.ErrorIs(t, p.a.mem.SetAttributes(vipl.MemAttributes{Tag: 12345}), vipl.ErrInvalidPtag)
	require.NoError(t, p.a.vi.Destroy())
	require.NoError(t, p.a.n.DestroyPtag(p.a.tag), "nothing uses the old tag")
	require.ErrorIs(t, p.a.n.DestroyPtag(other), vipl.ErrResource)
}

func testSendProtection(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	if p.a.n.Caps().UnregisteredSend {
		t.Skip("the NIC sends from any memory")
	}
	stranger := vipl.Segment{Data: make([]byte, 16), Handle: p.a.mem.Handle + 1}
	d := vipl.FillSend(&vipl.Descriptor{}, stranger)
	if done := p.send(p.a, d); !done {
		p.ended(p.a, d)
	}
	assert.Equal(t, nic.StatusProtectionError, d.Status)
	require.ErrorIs(t, vipl.Err(d), vipl.ErrDescriptor)
}
