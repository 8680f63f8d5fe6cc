package shm

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestBrokenWords writes one impossible word at a time.
func TestBrokenWords(t *testing.T) {
	twoKinds(t, func(t *testing.T, server, client func(string) *Device) { brokenWords(t, server("b"), client("")) })
}

func brokenWords(t *testing.T, b, a *Device) {
	valid := makeHeader(0, 8, 0, 0)
	for _, c := range []struct {
		what  string
		write func(pa, pb *Port)
	}{
		{"inline length", func(pa, _ *Port) { wordAtomic((*uint64)(pa.conn.txSlots), makeHeader(0, 57, 0, 0)) }},
		{"buffered length", func(pa, _ *Port) { wordAtomic((*uint64)(pa.conn.txSlots), makeHeader(0, 8193, flagBuffered, 0)) }},
		{"short message in a buffer", func(pa, _ *Port) {
			wordAtomic((*uint64)(pa.conn.txSlots), makeHeader(0, InlineBytesMax, flagBuffered, 0))
		}},
		{"empty message in a buffer", func(pa, _ *Port) {
			wordAtomic((*uint64)(pa.conn.txSlots), makeHeader(0, 0, flagBuffered|flagImmediate, 1))
		}},
		{"immediate without flag", func(pa, _ *Port) { wordAtomic((*uint64)(pa.conn.txSlots), valid|5) }},
		{"more than posted", func(pa, _ *Port) {
			for i := range uint64(3) {
				wordAtomic(wordAt(pa.conn.mem, client.slots()+uintptr(i)*slotBytes), makeHeader(i, 8, 0, 0))
			}
		}},
		{"slot out of turn", func(pa, _ *Port) { wordAtomic((*uint64)(pa.conn.txSlots), makeHeader(64, 8, 0, 0)) }},
		{"limit too far", func(pa, pb *Port) {
			wordAtomic(pa.conn.ourLimit, 66)
			_, _ = pb.PostSend(send([]byte("x")))
		}},
		{"limit goes back", func(pa, pb *Port) {
			_, _ = pb.PostSend(send(nil))
			wordAtomic(pa.conn.ourLimit, 0)
			_, _ = pb.PostSend(send([]byte("x")))
		}},
		{"buffer number", func(pa, pb *Port) {
			wordAtomic(wordAt(pa.conn.mem, clientBlock+buffersOff), ^uint64(0))
			_, _ = pb.PostSend(send(make([]byte, 100)))
		}},
		{"record on the socket", func(pa, _ *Port) { _ = sendRecord(pa.conn.sock, []byte("what?")) }},
		{"bye for too many", func(pa, _ *Port) { _ = sendRecord(pa.conn.sock, bye{sent: 3}.append(nil)) }},
		{"bye for messages never written", func(pa, _ *Port) { _ = sendRecord(pa.conn.sock, bye{sent: 1}.append(nil)) }},
		{"hello on an open connection", func(pa, _ *Port) { _ = sendRecord(pa.conn.sock, hello{addr: "x"}.append(nil)) }},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := newFixture(t, a, b)
			pa, pb := openPort(t, a, reliable()), openPort(t, b, reliable())
			f.connect(pa, pb)
			was := b.Stats().ProtocolErrors
			require.NoError(t, pb.PostRecv(recvLoan()))
			require.NoError(t, pb.PostRecv(recvLoan()))
			require.NoError(t, pa.PostRecv(recvLoan()))
			c.write(pa, pb)
			e := f.next(pb.dev, nic.EventDisconnected)
			require.ErrorIs(t, e.Conn.Err, nic.ErrProtocol)
			require.Equal(t, was+1, b.Stats().ProtocolErrors)
			_, err := pb.PostSend(send(nil))
			require.ErrorIs(t, err, nic.ErrNotConnected)
			err = f.next(pa.dev, nic.EventDisconnected).Conn.Err
			if c.what != "bye for messages never written" { // the side that sent a bye gets no further events
				require.ErrorIs(t, err, nic.ErrProtocol, "the correct other side is not told")
			}
			require.NoError(t, pb.Close())
			require.NoError(t, pa.Close())
		})
	}
}

// TestScribbler lets a peer write random words all over the segment, while the
// traffic of another peer of the same device continues.
func TestScribbler(t *testing.T) {
	twoKinds(t, func(t *testing.T, server, client func(string) *Device) {
		scribbler(t, server("victim"), client("good"), client("bad"))
	})
}

func scribbler(t *testing.T, d, good, bad *Device) {
	rng := newRand(t)
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	f := newFixture(t, d, good)
	pg, pd := openPort(t, good, reliable()), openPort(t, d, reliable())
	f.connect(pg, pd)
	for range 16 {
		require.NoError(t, pd.PostRecv(recvLoan()))
		require.NoError(t, pg.PostRecv(recvLoan()))
	}
	mem := make([]byte, 4096)
	guard := pattern(len(mem), 77)
	copy(mem, guard)
	h, err := d.Register(mem, nic.AccessRemoteRead, 7)
	require.NoError(t, err)

	echoed := 0
	for range rounds {
		f.devs = []*Device{d, good, bad}
		// Unreliable, so that a message without a receive does not end it.
		attrs := reliable()
		attrs.Reliability = nic.Unreliable
		pb, pv := openPort(t, bad, attrs), openPort(t, d, attrs)
		f.connect(pb, pv)
		for range ringSlots {
			require.NoError(t, pb.PostRecv(recvLoan()))
		}
		f.devs = f.devs[:2]
		for range 8 {
			require.NoError(t, pv.PostRecv(recvLoan()))
			require.NoError(t, pv.PostRecv(recvInto(make([]byte, 100))))
		}
		over := false
		for step := 0; !over && step < 400; step++ {
			scribble(rng, pb.conn.mem)
			for i := range 3 {
				_, _ = pv.PostSend(send(guard[:rng.IntN(200)*(i+1)]))
			}
			_, _ = pv.PostSend(rdmaDesc(nic.OpRDMARead, remoteOf(mem, 0, h), make([]byte, 64)))
			mustSend(t, pg, pattern(step%3000, byte(step)))
			d := f.next(d, nic.EventRecv)
			for d.Cookie != pd {
				if d.Desc.Status == nic.StatusSuccess {
					_ = pv.PostRecv(d.Desc)
				}
				d = f.next(pd.dev, nic.EventRecv)
			}
			require.Equal(t, nic.StatusSuccess, d.Desc.Status)
			require.Equal(t, pattern(step%3000, byte(step)), d.Desc.Data, "another peer's message was damaged")
			require.NoError(t, pd.PostRecv(d.Desc))
			echoed++
			over = pv.conn == nil
		}
		pv.Disconnect()
		f.next(d, nic.EventDisconnected)
		require.NoError(t, pv.Close())
		pb.Disconnect()
		require.NoError(t, pb.Close())
		f.seen[d] = nil
	}
	require.NotZero(t, d.Stats().ProtocolErrors)
	require.Equal(t, guard, mem)
	t.Logf("%d messages of the good peer, %d connections dropped", echoed, d.Stats().ProtocolErrors)
}

// scribble writes a few random words at critical places, and a few anywhere.
func scribble(rng *rand.Rand, mem []byte) {
	places := []uintptr{
		clientBlock + limitOff, clientBlock + attentionOff, clientBlock + hazardOff,
		clientBlock + buffersOff + 8*uintptr(rng.IntN(8)),
		serverBlock + limitOff, serverBlock + attentionOff, serverBlock + buffersOff,
		client.slots() + uintptr(rng.IntN(ringSlots))*slotBytes,
		uintptr(rng.IntN(bufferArea/8)) * 8, uintptr(rng.IntN(segmentBytes/8)) * 8,
	}
	for range 1 + rng.IntN(3) {
		off := places[rng.IntN(len(places))]
		v := rng.Uint64()
		switch rng.IntN(3) {
		case 0:
			v = rng.Uint64N(130)
		case 1: // nearly right
			v = makeHeader(rng.Uint64N(200), rng.IntN(9000), rng.Uint64N(4)<<46, 0)
		}
		atomic.StoreUint64(wordAt(mem, off), v)
	}
}

// TestEveryWord corrupts each word of the control page and the slots in turn,
// with traffic in both directions before and after.
func TestEveryWord(t *testing.T) {
	twoKinds(t, func(t *testing.T, server, client func(string) *Device) { everyWord(t, server("victim"), client("bad")) })
}

func everyWord(t *testing.T, d, bad *Device) {
	rng := newRand(t)
	f := newFixture(t, d, bad)
	var pv, pb *Port
	exchange := func() {
		if pb.conn == nil || pv.conn == nil {
			return
		}
		for _, p := range []*Port{pv, pb} {
			_ = p.PostRecv(recvInto(make([]byte, 300)))
		}
		_, _ = pv.PostSend(send(make([]byte, rng.IntN(300))))
		_, _ = pb.PostSend(send(make([]byte, rng.IntN(300))))
		for range 2 {
			d.budget, bad.budget = 0, 0
			f.poll()
		}
	}
	for off := uintptr(0); off < bufferArea; off += 8 {
		if pv == nil || pv.conn == nil || pb.conn == nil {
			for _, p := range []*Port{pv, pb} {
				if p != nil {
					p.Disconnect()
					require.NoError(t, p.Close())
				}
			}
			f.poll()
			f.seen = make(map[*Device][]nic.Event)
			pv, pb = openPort(t, d, reliable()), openPort(t, bad, reliable())
			f.connect(pb, pv)
		}
		for range rng.IntN(4) {
			exchange()
		}
		if pb.conn != nil {
			atomic.StoreUint64(wordAt(pb.conn.mem, off), rng.Uint64())
		}
		exchange()
		if pv.conn != nil && pv.conn.hotIndex >= 0 {
			d.makeCold(pv.conn) // also looks for damage
		}
	}
	require.NotZero(t, d.Stats().ProtocolErrors)
	t.Logf("%d connections dropped for their words", d.Stats().ProtocolErrors)
}
