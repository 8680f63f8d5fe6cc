package vipltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

var rdmaTests = []Test{
	{"RemoteDMA/Write", testRDMAWrite},
	{"RemoteDMA/Read", testRDMARead},
	{"RemoteDMA/WriteAndReadAtOnce", testRDMABoth},
	{"RemoteDMA/SendArrivesAfterWrite", testRDMAThenSend},
	{"RemoteDMA/WriteWithImmediateData", testRDMAImmediate},
	{"RemoteDMA/Protection", testRDMAProtection},
	{"RemoteDMA/DeregisterClosesAccess", testRDMADeregister},
}

func (p *pair) needRDMA(write, read bool) {
	caps := p.a.n.Caps()
	if (write && !caps.RDMAWrite) || (read && !caps.RDMARead) {
		p.Skip("the NIC has no such RDMA")
	}
}

// finish posts a send-queue descriptor and waits for it.
func (p *pair) finish(sd *side, d *vipl.Descriptor) nic.Status {
	p.Helper()
	if !p.send(sd, d) {
		return p.ended(sd, d)
	}
	return d.Status
}

func testRDMAWrite(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	p.needRDMA(true, false)
	most := min(p.a.n.Caps().RDMABytesMax, memBytes-16)
	for i, size := range []int{0, 1, 4096, most} {
		pattern(p.b.mem.Data, 50)
		before := patterned(memBytes, 50)
		src := p.a.mem.Segment(0, size)
		pattern(src.Data, i)
		d := vipl.FillRDMAWrite(&vipl.Descriptor{}, p.b.mem.Remote(8), src)
		require.Equal(t, nic.StatusSuccess, p.finish(p.a, d), "size %d", size)
		assert.Equal(t, size, d.Length)
		assert.Equal(t, patterned(size, i), p.b.mem.Data[8:8+size])
		assert.Equal(t, before[:8], p.b.mem.Data[:8])
		assert.Equal(t, before[8+size:], p.b.mem.Data[8+size:])
	}
	assert.Empty(t, p.b.got, "the other side does not notice")

	pieces := []vipl.Segment{p.a.mem.Segment(0, 100), p.a.mem.Segment(500, 23)}
	pattern(p.a.mem.Data, 7)
	d := vipl.FillRDMAWrite(&vipl.Descriptor{}, p.b.mem.Remote(0), pieces...)
	require.Equal(t, nic.StatusSuccess, p.finish(p.a, d))
	assert.Equal(t, p.a.mem.Data[:100], p.b.mem.Data[:100])
	assert.Equal(t, p.a.mem.Data[500:523], p.b.mem.Data[100:123])
}

func testRDMARead(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	p.needRDMA(false, true)
	most := min(p.a.n.Caps().RDMABytesMax, memBytes-16)
	pattern(p.b.mem.Data, 60)
	for _, size := range []int{0, 1, 4096, most} {
		pattern(p.a.mem.Data, 1)
		d := vipl.FillRDMARead(&vipl.Descriptor{}, p.b.mem.Remote(8), p.a.mem.Segment(0, size/2), p.a.mem.Segment(size/2, size-size/2))
		require.Equal(t, nic.StatusSuccess, p.finish(p.a, d), "size %d", size)
		assert.Equal(t, p.b.mem.Data[8:8+size], p.a.mem.Data[:size])
		assert.Equal(t, patterned(memBytes, 1)[size:], p.a.mem.Data[size:])
	}
	assert.Empty(t, p.b.got)
}

func testRDMABoth(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	p.needRDMA(true, true)
	// The receiver reads one half while the sender writes the other.
	const half = 2048
	pattern(p.a.mem.Data[:2*half], 3)
	w := vipl.FillRDMAWrite(&vipl.Descriptor{}, p.b.mem.Remote(0), p.a.mem.Segment(0, half))
	r := vipl.FillRDMARead(&vipl.Descriptor{}, p.a.mem.Remote(half), p.b.mem.Segment(half, half))
	doneW, doneR := p.send(p.a, w), p.send(p.b, r)
	if !doneW {
		require.Equal(t, nic.StatusSuccess, p.ended(p.a, w))
	}
	if !doneR {
		require.Equal(t, nic.StatusSuccess, p.ended(p.b, r))
	}
	assert.Equal(t, patterned(2*half, 3), p.b.mem.Data[:2*half])
}

func testRDMAThenSend(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	p.needRDMA(true, false)
	for round := range 10 {
		pattern(p.a.mem.Data[:4096], round)
		note := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(8192, 8))
		p.recv(p.b, note)
		w := vipl.FillRDMAWrite(&vipl.Descriptor{}, p.b.mem.Remote(0), p.a.mem.Segment(0, 4096))
		fin := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(8192, 8))
		doneW := p.send(p.a, w)
		doneF := p.send(p.a, fin)
		require.Equal(t, nic.StatusSuccess, p.ended(p.b, note))
		assert.Equal(t, patterned(4096, round), p.b.mem.Data[:4096], "the data is there when the message behind it is")
		if !doneW {
			require.Equal(t, nic.StatusSuccess, p.ended(p.a, w))
		}
		if !doneF {
			require.Equal(t, nic.StatusSuccess, p.ended(p.a, fin))
		}
	}
}

func testRDMAImmediate(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	p.needRDMA(true, false)
	r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(8192, 8))
	p.recv(p.b, r)
	pattern(p.a.mem.Data[:100], 4)
	d := vipl.SetImmediate(vipl.FillRDMAWrite(&vipl.Descriptor{}, p.b.mem.Remote(0), p.a.mem.Segment(0, 100)), 77)
	require.Equal(t, nic.StatusSuccess, p.finish(p.a, d))
	require.Equal(t, nic.StatusSuccess, p.ended(p.b, r), "immediate data takes a receive")
	value, ok := vipl.Immediate(r)
	assert.True(t, ok)
	assert.Equal(t, uint32(77), value)
	assert.Equal(t, patterned(100, 4), p.b.mem.Data[:100])
}

func testRDMAProtection(t *testing.T, s Setup) {
	caps := newPair(t, s, options{}).a.n.Caps()
	cases := []struct {
		name string
		spec func(p *pair) vipl.Remote
	}{
		{"unknown handle", func(p *pair) vipl.Remote { return vipl.Remote{Addr: p.b.mem.Remote(0).Addr, Handle: 1 << 60} }},
		{"before the range", func(p *pair) vipl.Remote {
			r := p.b.mem.Remote(0)
			return vipl.Remote{Addr: r.Addr - 1, Handle: r.Handle}
		}},
		{"behind the range", func(p *pair) vipl.Remote { return p.b.mem.Remote(memBytes - 63) }},
		{"address that overflows", func(p *pair) vipl.Remote {
			return vipl.Remote{Addr: ^uint64(0) - 8, Handle: p.b.mem.Handle}
		}},
		{"no access", func(p *pair) vipl.Remote {
			require.NoError(p, p.b.mem.SetAttributes(vipl.MemAttributes{Tag: p.b.tag}))
			return p.b.mem.Remote(0)
		}},
		{"another tag", func(p *pair) vipl.Remote {
			tag, err := p.b.n.CreatePtag()
			require.NoError(p, err)
			require.NoError(p, p.b.mem.SetAttributes(vipl.MemAttributes{Tag: tag, RemoteRead: true, RemoteWrite: true}))
			return p.b.mem.Remote(0)
		}},
	}
	kinds := []struct {
		name string
		on   bool
		fill func(*vipl.Descriptor, vipl.Remote, ...vipl.Segment) *vipl.Descriptor
	}{{"write", caps.RDMAWrite, vipl.FillRDMAWrite}, {"read", caps.RDMARead, vipl.FillRDMARead}}
	for k, kind := range kinds {
		for i, c := range cases {
			if !kind.on {
				continue
			}
			t.Run(kind.name+" "+c.name, func(t *testing.T) {
				fresh := s
				fresh.Name = func(n int) string { return s.Name(100 + 100*k + 10*i + n) }
				p := connected(t, fresh, options{reliability: nic.ReliableDelivery})
				before := append([]byte(nil), p.b.mem.Data...)
				pattern(p.a.mem.Data, 9)
				d := kind.fill(&vipl.Descriptor{}, c.spec(p), p.a.mem.Segment(0, 64))
				assert.Equal(t, nic.StatusRDMAError, p.finish(p.a, d))
				assert.Equal(t, before, p.b.mem.Data)
				assert.Equal(t, patterned(memBytes, 9), p.a.mem.Data)
			})
		}
	}
}

func testRDMADeregister(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	p.needRDMA(true, false)
	pattern(p.a.mem.Data, 11)
	d := vipl.FillRDMAWrite(&vipl.Descriptor{}, p.b.mem.Remote(0), p.a.mem.Segment(0, 4096))
	done := p.send(p.a, d)
	for range p.rng.IntN(6) {
		s.Step()
	}
	p.whenFree(func() error { return p.b.mem.Deregister() })
	after := append([]byte(nil), p.b.mem.Data...)
	if !done {
		p.ended(p.a, d)
	}
	p.settle()
	assert.Equal(t, after, p.b.mem.Data, "nobody writes once Deregister has returned")
}

// whenFree repeats a call that finds memory in use.
func (p *pair) whenFree(call func() error) {
	p.Helper()
	p.until("memory to be free", func() bool {
		err := call()
		if err != nil {
			require.ErrorIs(p, err, nic.ErrBusy)
		}
		return err == nil
	})
}
