package shm

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

func remoteOf(mem []byte, off int, h nic.Handle) nic.Remote {
	return nic.Remote{Addr: uint64(uintptr(unsafe.Pointer(&mem[off]))), Handle: h}
}

func rdmaDesc(op nic.Op, remote nic.Remote, local ...[]byte) *nic.Descriptor {
	d := &nic.Descriptor{Op: op, Remote: remote}
	for _, l := range local {
		d.Segments = append(d.Segments, nic.Segment{Data: l})
	}
	return d
}

// rdma posts an RDMA descriptor and polls until it is finished.
func (f *fixture) rdma(p *Port, d *nic.Descriptor) nic.Status {
	f.t.Helper()
	done, err := p.PostSend(d)
	require.NoError(f.t, err)
	if !done {
		require.Same(f.t, d, f.next(p.dev, nic.EventSend).Desc)
	}
	return d.Status
}

func TestRDMAMovesBothWays(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	for _, n := range []int{1, 4096, rdmaCallBytes, rdmaCallBytes + 1, 3*rdmaPollBytes + 17} {
		theirs := make([]byte, n+64)
		h, err := pb.dev.Register(theirs, nic.AccessRemoteRead|nic.AccessRemoteWrite, 7)
		require.NoError(t, err)
		// Uneven local pieces, so that calls begin and end inside them.
		src := pattern(n, 1)
		w := rdmaDesc(nic.OpRDMAWrite, remoteOf(theirs, 32, h), src[:n/3], nil, src[n/3:])
		require.Equal(t, nic.StatusSuccess, f.rdma(pa, w))
		require.Equal(t, n, w.Length)
		require.Equal(t, src, theirs[32:32+n])
		require.Equal(t, make([]byte, 32), theirs[:32], "written before the range")
		require.Equal(t, make([]byte, 32), theirs[32+n:], "written behind the range")

		back := make([]byte, n)
		r := rdmaDesc(nic.OpRDMARead, remoteOf(theirs, 32, h), back[:n/2], back[n/2:])
		require.Equal(t, nic.StatusSuccess, f.rdma(pa, r))
		require.Equal(t, src, back)
		require.NoError(t, pb.dev.Deregister(h))
	}
}

func TestSendsStayBehindRDMA(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	theirs := make([]byte, 8*rdmaPollBytes)
	h, err := pb.dev.Register(theirs, nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	d := recvInto(make([]byte, 8))
	require.NoError(t, pb.PostRecv(d))
	src := pattern(len(theirs), 3)
	w := rdmaDesc(nic.OpRDMAWrite, remoteOf(theirs, 0, h), src)
	done, err := pa.PostSend(w)
	require.NoError(t, err)
	require.False(t, done)
	s := send([]byte("finished"))
	done, err = pa.PostSend(s)
	require.NoError(t, err)
	require.False(t, done, "a send overtook an unfinished RDMA write")

	f.next(pb.dev, nic.EventRecv)
	require.Equal(t, src, theirs)
	require.Equal(t, "finished", string(d.Segments[0].Data))
	require.Same(t, w, f.next(pa.dev, nic.EventSend).Desc)
	require.Same(t, s, f.next(pa.dev, nic.EventSend).Desc)
	require.Equal(t, nic.StatusSuccess, s.Status)
}

func TestRDMAWriteWithImmediate(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	theirs := make([]byte, 100)
	h, err := pb.dev.Register(theirs, nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	d := recvInto(nil)
	require.NoError(t, pb.PostRecv(d))
	w := rdmaDesc(nic.OpRDMAWrite, remoteOf(theirs, 0, h), pattern(100, 9))
	w.Flags, w.Immediate = nic.FlagImmediate, 0xfeedface
	require.Equal(t, nic.StatusSuccess, f.rdma(pa, w))
	require.Equal(t, 100, w.Length)
	f.next(pb.dev, nic.EventRecv)
	require.Equal(t, uint32(0xfeedface), d.Immediate)
	require.NotZero(t, d.Flags&nic.FlagImmediate)
	require.Zero(t, d.Length)
	require.Equal(t, pattern(100, 9), theirs)
}

func TestRDMAProtection(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	theirs := pattern(8192, 5)
	untouched := pattern(8192, 5)
	both, err := pb.dev.Register(theirs[1024:2048], nic.AccessRemoteRead|nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	readOnly, err := pb.dev.Register(theirs, nic.AccessRemoteRead, 7)
	require.NoError(t, err)
	otherTag, err := pb.dev.Register(theirs, nic.AccessRemoteRead|nic.AccessRemoteWrite, 8)
	require.NoError(t, err)
	gone, err := pb.dev.Register(theirs, nic.AccessRemoteRead|nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	require.NoError(t, pb.dev.Deregister(gone))
	again, err := pb.dev.Register(theirs, nic.AccessRemoteRead|nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	require.Equal(t, handleIndex(gone), handleIndex(again), "the entry was not used again, the test proves nothing")
	buf := make([]byte, 512)
	ours, err := pa.dev.Register(buf, 0, 8)
	require.NoError(t, err)

	for _, c := range []struct {
		what   string
		op     nic.Op
		remote nic.Remote
		local  nic.Handle
		want   nic.Status
	}{
		{"no handle", nic.OpRDMAWrite, remoteOf(theirs, 1024, 0), 0, nic.StatusRDMAError},
		{"made-up handle", nic.OpRDMAWrite, remoteOf(theirs, 1024, 0x123456), 0, nic.StatusRDMAError},
		{"all ones", nic.OpRDMAWrite, remoteOf(theirs, 1024, ^nic.Handle(0)), 0, nic.StatusRDMAError},
		{"stale generation", nic.OpRDMAWrite, remoteOf(theirs, 1024, gone), 0, nic.StatusRDMAError},
		{"before the range", nic.OpRDMAWrite, remoteOf(theirs, 1023, both), 0, nic.StatusRDMAError},
		{"behind the range", nic.OpRDMAWrite, remoteOf(theirs, 2048-511, both), 0, nic.StatusRDMAError},
		{"address wraps", nic.OpRDMAWrite, nic.Remote{Addr: ^uint64(0) - 100, Handle: both}, 0, nic.StatusRDMAError},
		{"write to read-only", nic.OpRDMAWrite, remoteOf(theirs, 0, readOnly), 0, nic.StatusRDMAError},
		{"other tag", nic.OpRDMARead, remoteOf(theirs, 0, otherTag), 0, nic.StatusRDMAError},
		{"local memory of another tag", nic.OpRDMAWrite, remoteOf(theirs, 1024, both), ours, nic.StatusProtectionError},
		{"local handle unknown", nic.OpRDMAWrite, remoteOf(theirs, 1024, both), 99, nic.StatusProtectionError},
	} {
		t.Run(c.what, func(t *testing.T) {
			d := rdmaDesc(c.op, c.remote, buf)
			d.Segments[0].Handle = c.local
			require.Equal(t, c.want, f.rdma(pa, d))
			require.Zero(t, d.Length)
			require.Equal(t, untouched, theirs)
			require.Equal(t, make([]byte, 512), buf)
		})
	}
	require.Equal(t, nic.StatusSuccess, f.rdma(pa, rdmaDesc(nic.OpRDMAWrite, remoteOf(theirs, 1024, both), buf)))
	require.Equal(t, nic.StatusSuccess, f.rdma(pa, rdmaDesc(nic.OpRDMARead, remoteOf(theirs, 0, readOnly), buf)))
}

func TestRDMANeedsThePortsPermission(t *testing.T) {
	attrs := reliable()
	attrs.RemoteRead, attrs.RemoteWrite = false, false
	f, pa, pb := pair(t, attrs)
	theirs := make([]byte, 64)
	h, err := pb.dev.Register(theirs, nic.AccessRemoteRead|nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	for _, op := range []nic.Op{nic.OpRDMARead, nic.OpRDMAWrite} {
		require.Equal(t, nic.StatusRDMAError, f.rdma(pa, rdmaDesc(op, remoteOf(theirs, 0, h), make([]byte, 8))))
	}
}

func TestDeregisterIsBusyDuringARemoteAccess(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	theirs := make([]byte, 64)
	h, err := pb.dev.Register(theirs, nic.AccessRemoteWrite, 7)
	require.NoError(t, err)

	// The other side is between its check and the end of its system call.
	wordAtomic(pa.conn.ourHazard, uint64(h))
	require.ErrorIs(t, pb.dev.Deregister(h), nic.ErrBusy)
	require.ErrorIs(t, pb.dev.Deregister(h), nic.ErrBusy)
	require.False(t, pb.dev.table.covers(h, theirs, 7), "memory that is being withdrawn can still be used")
	wordAtomic(pa.conn.ourHazard, 0)
	require.Equal(t, nic.StatusRDMAError, f.rdma(pa, rdmaDesc(nic.OpRDMAWrite, remoteOf(theirs, 0, h), make([]byte, 8))),
		"a new access got through to memory that is being withdrawn")
	require.NoError(t, pb.dev.Deregister(h))
	require.ErrorIs(t, pb.dev.Deregister(h), nic.ErrUnknownHandle)
	require.Equal(t, uint64(2), pb.dev.Stats().DeregisterBusy)

	// After Disconnect the other side may still be inside a call; after its end
	// its hazard word means nothing.
	h, err = pb.dev.Register(theirs, nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	wordAtomic(pa.conn.ourHazard, uint64(h))
	pb.Disconnect()
	require.ErrorIs(t, pb.dev.Deregister(h), nic.ErrBusy)
	f.next(pa.dev, nic.EventDisconnected)
	require.NoError(t, pb.dev.Deregister(h))
}

func TestRDMAForbidden(t *testing.T) {
	for _, who := range []string{"client", "server"} {
		t.Run(who, func(t *testing.T) {
			dir := t.TempDir()
			if who == "server" {
				t.Setenv(NoCMAEnv, "1")
			}
			b := openDevice(t, dir, "b")
			t.Setenv(NoCMAEnv, "")
			if who == "client" {
				t.Setenv(NoCMAEnv, "1")
			}
			a := openDevice(t, dir, "")
			f := newFixture(t, a, b)
			pa, pb := openPort(t, a, reliable()), openPort(t, b, reliable())
			require.False(t, pa.RDMAUsable())
			f.connect(pa, pb)
			require.False(t, pa.RDMAUsable())
			require.False(t, pb.RDMAUsable())
			require.True(t, a.Caps().RDMARead)
			theirs := make([]byte, 64)
			h, err := b.Register(theirs, nic.AccessRemoteWrite, 7)
			require.NoError(t, err)
			want := nic.StatusSuccess // only the other direction is forbidden
			if who == "client" {
				want = nic.StatusRDMAError
			}
			require.Equal(t, want, f.rdma(pa, rdmaDesc(nic.OpRDMAWrite, remoteOf(theirs, 0, h), make([]byte, 8))))
		})
	}
	f, pa, pb := pair(t, reliable())
	require.True(t, pa.RDMAUsable())
	require.True(t, pb.RDMAUsable())
	pa.Disconnect()
	f.next(pb.dev, nic.EventDisconnected)
	require.False(t, pb.RDMAUsable())
}

func TestTableRunsOut(t *testing.T) {
	d := openDevice(t, t.TempDir(), "")
	mem := make([]byte, 8)
	seen := make(map[nic.Handle]bool)
	for range tableEntries {
		h, err := d.Register(mem, 0, 1)
		require.NoError(t, err)
		require.False(t, seen[h])
		seen[h] = true
	}
	_, err := d.Register(mem, 0, 1)
	require.ErrorIs(t, err, nic.ErrAgain)
	for h := range seen {
		require.NoError(t, d.Deregister(h))
		break
	}
	_, err = d.Register(mem, 0, 1)
	require.NoError(t, err)
	_, err = d.Register(nil, 0, 1)
	require.Error(t, err)
	_, err = d.Register(mem, 0x80, 1)
	require.Error(t, err)
}

func TestRDMAFlushedByDisconnect(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	theirs := make([]byte, 8*rdmaPollBytes)
	h, err := pb.dev.Register(theirs, nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	var posted []*nic.Descriptor
	for range 3 {
		d := rdmaDesc(nic.OpRDMAWrite, remoteOf(theirs, 0, h), make([]byte, len(theirs)))
		done, err := pa.PostSend(d)
		require.NoError(t, err)
		require.False(t, done)
		posted = append(posted, d)
	}
	pa.Disconnect()
	for i, d := range posted {
		require.Same(t, d, f.next(pa.dev, nic.EventSend).Desc, fmt.Sprint(i))
		require.Equal(t, nic.StatusFlushed, d.Status)
	}
	require.NoError(t, f.next(pa.dev, nic.EventDisconnected).Conn.Err)
	require.Error(t, f.next(pb.dev, nic.EventDisconnected).Conn.Err)
}
