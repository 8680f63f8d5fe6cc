package shm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

func TestGatherAndScatter(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	for _, n := range []int{3, 40, 56, 57, 1000, 8192} {
		src, dst := pattern(n, 3), make([]byte, n+5)
		s := &nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: src[:1]}, {}, {Data: src[1 : n/2]}, {Data: src[n/2:]}}}
		r := &nic.Descriptor{Op: nic.OpRecv, Segments: []nic.Segment{{Data: dst[:2]}, {Data: dst[2:3]}, {}, {Data: dst[3:]}}}
		require.NoError(t, pb.PostRecv(r))
		done, err := pa.PostSend(s)
		require.NoError(t, err)
		require.True(t, done)
		require.Equal(t, nic.StatusSuccess, s.Status)
		f.next(pb.dev, nic.EventRecv)
		require.Equal(t, n, r.Length)
		require.Equal(t, src, dst[:n])
		require.Equal(t, make([]byte, 5), dst[n:])
	}
}

func TestImmediate(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	for _, n := range []int{0, 8, 100} {
		d := recvLoan()
		for _, imm := range []uint32{0, 1, 0xffffffff} {
			require.NoError(t, pb.PostRecv(d))
			s := send(pattern(n, 1))
			s.Flags, s.Immediate = nic.FlagImmediate, imm
			_, err := pa.PostSend(s)
			require.NoError(t, err)
			f.next(pb.dev, nic.EventRecv)
			require.NotZero(t, d.Flags&nic.FlagImmediate)
			require.Equal(t, imm, d.Immediate)
			require.Len(t, d.Data, n)
		}
		require.NoError(t, pb.PostRecv(d))
		mustSend(t, pa, nil)
		f.next(pb.dev, nic.EventRecv)
		require.Zero(t, d.Flags&nic.FlagImmediate)
	}
}

func TestMessageLongerThanItsReceive(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	for _, n := range []int{20, 2000} {
		short := recvInto(make([]byte, 19))
		next := recvInto(make([]byte, n))
		require.NoError(t, pb.PostRecv(short))
		require.NoError(t, pb.PostRecv(next))
		mustSend(t, pa, pattern(n, 1))
		mustSend(t, pa, pattern(n, 2))
		require.Same(t, short, f.next(pb.dev, nic.EventRecv).Desc)
		require.Equal(t, nic.StatusLengthError, short.Status)
		require.Equal(t, make([]byte, 19), short.Segments[0].Data)
		require.Same(t, next, f.next(pb.dev, nic.EventRecv).Desc)
		require.Equal(t, nic.StatusSuccess, next.Status, "costs the next message something")
		require.Equal(t, pattern(n, 2), next.Segments[0].Data)
	}
	long := send(make([]byte, MTUBytes+1))
	done, err := pa.PostSend(long)
	require.NoError(t, err)
	require.True(t, done)
	require.Equal(t, nic.StatusLengthError, long.Status)
	f.none(pb.dev, nic.EventRecv)
}

func TestNoReceivePosted(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	require.NoError(t, pb.PostRecv(recvLoan()))
	mustSend(t, pa, []byte("fits"))
	d := send([]byte("does not"))
	done, err := pa.PostSend(d)
	require.NoError(t, err)
	require.True(t, done)
	require.Equal(t, nic.StatusNoDescriptor, d.Status)
	require.ErrorContains(t, f.next(pa.dev, nic.EventDisconnected).Conn.Err, "no receive posted")
	require.Equal(t, "fits", string(f.next(pb.dev, nic.EventRecv).Desc.Data))
	require.ErrorContains(t, f.next(pb.dev, nic.EventDisconnected).Conn.Err, "no receive was posted")
}

func TestUnreliableDrops(t *testing.T) {
	attrs := reliable()
	attrs.Reliability = nic.Unreliable
	f, pa, pb := pair(t, attrs)
	require.NoError(t, pb.PostRecv(recvLoan()))
	for _, text := range []string{"first", "lost", "lost"} {
		d := send([]byte(text))
		done, err := pa.PostSend(d)
		require.NoError(t, err)
		require.True(t, done)
		require.Equal(t, nic.StatusSuccess, d.Status)
	}
	require.Equal(t, "first", string(f.next(pb.dev, nic.EventRecv).Desc.Data))
	require.NoError(t, pb.PostRecv(recvLoan()))
	mustSend(t, pa, []byte("second"))
	require.Equal(t, "second", string(f.next(pb.dev, nic.EventRecv).Desc.Data))
	require.Equal(t, uint64(2), pa.dev.Stats().Dropped)
}

func TestPostedReceiveIsSeenAtOnce(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	d := recvLoan()
	for i := range 200 {
		// No Poll of the receiver between its post and the send.
		require.NoError(t, pb.PostRecv(d))
		mustSend(t, pa, pattern(i, 0))
		require.Equal(t, i, f.next(pb.dev, nic.EventRecv).Desc.Length)
	}
}

func TestQueueLimits(t *testing.T) {
	attrs := reliable()
	attrs.RecvDepth, attrs.SendDepth = 3, 2
	f, pa, pb := pair(t, attrs)
	for range 3 {
		require.NoError(t, pb.PostRecv(recvLoan()))
	}
	require.ErrorIs(t, pb.PostRecv(recvLoan()), nic.ErrAgain)
	require.Error(t, pb.PostRecv(&nic.Descriptor{Segments: make([]nic.Segment, SegmentsMax+1)}))

	mem := make([]byte, 4*rdmaPollBytes)
	h, err := pb.dev.Register(mem, nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	for range 2 {
		_, err := pa.PostSend(rdmaDesc(nic.OpRDMAWrite, remoteOf(mem, 0, h), make([]byte, len(mem))))
		require.NoError(t, err)
	}
	_, err = pa.PostSend(send(nil))
	require.ErrorIs(t, err, nic.ErrAgain)
	f.next(pa.dev, nic.EventSend)
	_, err = pa.PostSend(send(nil))
	require.NoError(t, err)

	_, err = pa.dev.OpenPort(nic.PortAttrs{RecvDepth: 65}, nil)
	require.ErrorContains(t, err, "at most 64")
	_, err = pa.dev.OpenPort(nic.PortAttrs{Reliability: 9}, nil)
	require.Error(t, err)
}

// TestLoansInAnyOrder keeps loans for random times while the traffic continues,
// and checks that no loan changes meanwhile.
func TestLoansInAnyOrder(t *testing.T) {
	rng := newRand(t)
	f, pa, pb := pair(t, reliable())
	type loan struct {
		d    *nic.Descriptor
		want []byte
	}
	var held []loan
	var queue [][]byte // sent, not yet received
	for range ringSlots {
		require.NoError(t, pb.PostRecv(recvLoan()))
	}
	require.ErrorIs(t, pb.PostRecv(recvLoan()), nic.ErrAgain)
	posted := ringSlots
	for i := range 5000 {
		if posted > len(queue) && rng.IntN(2) == 0 {
			data := pattern(rng.IntN(300), byte(i))
			mustSend(t, pa, data)
			queue = append(queue, data)
		}
		if len(queue) > 0 && rng.IntN(2) == 0 {
			d := f.next(pb.dev, nic.EventRecv).Desc
			require.Equal(t, queue[0], d.Data)
			held = append(held, loan{d, queue[0]})
			queue = queue[1:]
			posted--
		}
		if k := len(held); k > 0 && rng.IntN(2) == 0 {
			j := rng.IntN(k)
			require.Equal(t, held[j].want, held[j].d.Data, "a loan was written over")
			held[j].d.Data = held[j].d.Data[:0] // the holder may cut it
			require.NoError(t, pb.PostRecv(held[j].d))
			held[j] = held[k-1]
			held = held[:k-1]
			posted++
		}
	}
	for _, l := range held {
		require.Equal(t, l.want, l.d.Data)
	}
	require.Equal(t, uint64(0), pb.dev.Stats().ProtocolErrors+pa.dev.Stats().ProtocolErrors)
}

// TestLoansLimitPosts: more descriptors than buffers.
func TestLoansLimitPosts(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	var loans []*nic.Descriptor
	for range ringSlots {
		require.NoError(t, pb.PostRecv(recvLoan()))
		mustSend(t, pa, make([]byte, 100))
		loans = append(loans, f.next(pb.dev, nic.EventRecv).Desc)
	}
	extra := recvLoan()
	require.ErrorIs(t, pb.PostRecv(extra), nic.ErrAgain)
	require.NoError(t, pb.PostRecv(loans[40]))
	mustSend(t, pa, pattern(200, 1))
	require.Equal(t, pattern(200, 1), f.next(pb.dev, nic.EventRecv).Desc.Data)
	pb.Disconnect()
	f.next(pb.dev, nic.EventDisconnected)
	require.Equal(t, pattern(200, 1), loans[40].Data)
	require.NoError(t, pb.Close())
}

func TestSegmentHandles(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	mem := make([]byte, 100)
	h, err := pa.dev.Register(mem, 0, 7)
	require.NoError(t, err)
	other, err := pa.dev.Register(mem, 0, 8)
	require.NoError(t, err)
	for _, c := range []struct {
		seg  nic.Segment
		want nic.Status
	}{
		{nic.Segment{Data: mem[50:], Handle: h}, nic.StatusSuccess},
		{nic.Segment{Data: nil, Handle: h}, nic.StatusSuccess},
		{nic.Segment{Data: mem, Handle: other}, nic.StatusProtectionError},
		{nic.Segment{Data: make([]byte, 10), Handle: h}, nic.StatusProtectionError},
		{nic.Segment{Data: mem, Handle: 12345}, nic.StatusProtectionError},
	} {
		require.NoError(t, pb.PostRecv(recvLoan()))
		d := &nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{c.seg}}
		done, err := pa.PostSend(d)
		require.NoError(t, err)
		require.True(t, done)
		require.Equal(t, c.want, d.Status)
	}
	f.next(pb.dev, nic.EventRecv)
	f.next(pb.dev, nic.EventRecv)
	bad := recvInto(mem)
	bad.Segments[0].Handle = 12345
	require.ErrorIs(t, pb.PostRecv(bad), nic.ErrUnknownHandle)
}
