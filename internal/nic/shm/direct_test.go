package shm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// take takes a message, by Take or, if by is false or Take has none, by Poll, and gives its receive back. before is called while the
// message may be on loan.
func take(f *fixture, p *Port, by bool, before func(data []byte)) {
	var small [nic.InlineMax]byte
	if by {
		for range 100 {
			cookie, data, lent, idle := p.dev.Take(&small)
			require.False(f.t, cookie != nil && idle)
			require.Equal(f.t, len(data) > InlineBytesMax, lent)
			if cookie != nil {
				require.Same(f.t, p, cookie)
				before(data)
				if lent {
					p.dev.Return()
				}
				return
			}
			if !idle {
				break
			}
		}
	}
	d := f.next(p.dev, nic.EventRecv).Desc
	require.Equal(f.t, nic.StatusSuccess, d.Status)
	require.Zero(f.t, d.Flags&nic.FlagImmediate)
	before(d.Data)
	require.NoError(f.t, p.PostRecv(d))
}

// TestDirect: messages of all sizes arrive whole and in order, whether they are sent with Claim or PostSend, and received with Take or Poll.
func TestDirect(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	rng := newRand(t)
	const depth = 8
	for range depth {
		require.NoError(t, pb.PostRecv(recvLoan()))
	}
	var sent [][]byte
	claimed, taken := 0, 0
	for round := range 20 * ringSlots {
		n := rng.IntN(2 * InlineBytesMax)
		if rng.IntN(3) == 0 {
			n = rng.IntN(MTUBytes + 1)
		}
		b := pattern(n, byte(round))
		sent = append(sent, b)
		var room []byte
		if rng.IntN(4) > 0 {
			room = pa.Claim(n)
		}
		if room != nil || n == 0 && rng.IntN(2) == 0 && pa.Claim(0) != nil {
			require.Len(t, room, n)
			copy(room, b)
			pa.Publish()
			claimed++
		} else {
			mustSend(t, pa, b)
		}
		for len(sent) == depth || len(sent) > 0 && rng.IntN(2) == 0 {
			by := rng.IntN(4) > 0
			take(f, pb, by && len(f.seen[pb.dev]) == 0, func(data []byte) { require.Equal(t, sent[0], data) })
			sent = sent[1:]
			if by {
				taken++
			}
		}
	}
	require.Positive(t, claimed)
	require.Positive(t, taken)
	for _, b := range sent {
		take(f, pb, false, func(data []byte) { require.Equal(t, b, data) })
	}
	require.EqualValues(t, depth, pb.conn.posted-pb.conn.received, "every receive is posted again")
	require.Zero(t, pb.conn.loans)
}

// TestReturnAfterTheEnd: a message that Take lent can be read until Return, even if its port is closed before.
func TestReturnAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(f *fixture, pa, pb *Port){
		"disconnected": func(_ *fixture, _, pb *Port) { pb.Disconnect() },
		"broken":       func(_ *fixture, _, pb *Port) { pb.conn.breakRules("what a test says") },
		"released": func(f *fixture, pa, pb *Port) {
			pb.Disconnect()
			pa.dev.budget = 0
			f.next(pa.dev, nic.EventDisconnected)
		},
		"connected again": func(f *fixture, pa, pb *Port) {
			pb.Disconnect()
			f.next(pa.dev, nic.EventDisconnected)
			f.connect(pa, pb)
			require.NoError(f.t, pb.PostRecv(recvLoan()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, pa, pb := pair(t, reliable())
			for range 2 {
				require.NoError(t, pb.PostRecv(recvLoan()))
			}
			mustSend(t, pa, pattern(5000, 1))
			var small [nic.InlineMax]byte
			cookie, data, _, _ := pb.dev.Take(&small)
			require.Same(t, pb, cookie)
			c := pb.conn
			end(f, pa, pb)
			require.Equal(t, pattern(5000, 1), data)
			pb.dev.Return()
			require.Zero(t, c.loans)
			require.Empty(t, pb.retired)
			for range 2 {
				require.Equal(t, nic.StatusFlushed, f.next(pb.dev, nic.EventRecv).Desc.Status)
			}
			f.next(pb.dev, nic.EventDisconnected)
			if pb.conn != nil {
				mustSend(t, pa, pattern(6000, 2))
				require.Equal(t, pattern(6000, 2), f.next(pb.dev, nic.EventRecv).Desc.Data)
			}
		})
	}
}

// TestPortClosedWithinTake: the loan ends with its port.
func TestPortClosedWithinTake(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	require.NoError(t, pb.PostRecv(recvLoan()))
	mustSend(t, pa, pattern(5000, 1))
	var small [nic.InlineMax]byte
	cookie, _, _, _ := pb.dev.Take(&small)
	require.Same(t, pb, cookie)
	pb.Disconnect()
	f.next(pb.dev, nic.EventDisconnected)
	require.NoError(t, pb.Close())
	pb.dev.Return()
}

// TestNoClaim: a message whose buffer has no memory yet must be posted. So must a message that cannot be sent; PostSend returns
// the reason.
func TestNoClaim(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	require.Nil(t, pa.Claim(0), "no receive is posted")
	require.NoError(t, pb.PostRecv(recvLoan()))
	require.Nil(t, pa.Claim(InlineBytesMax+1), "its buffer has no memory")
	mustSend(t, pa, pattern(MTUBytes, 1))
	require.NoError(t, pb.PostRecv(f.next(pb.dev, nic.EventRecv).Desc))
	for range ringSlots { // until it is that buffer's turn again
		if room := pa.Claim(MTUBytes); room != nil {
			require.Nil(t, pa.Claim(MTUBytes+1))
			return
		}
		mustSend(t, pa, nil)
		require.NoError(t, pb.PostRecv(f.next(pb.dev, nic.EventRecv).Desc))
	}
	require.Fail(t, "no buffer is used twice")
}

// TestNoClaimAtTheEnd: nothing is sent without a connection.
func TestNoClaimAtTheEnd(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	require.NoError(t, pb.PostRecv(recvLoan()))
	require.Nil(t, openPort(t, pa.dev, reliable()).Claim(0), "nobody is connected")
	pa.Disconnect()
	f.next(pb.dev, nic.EventDisconnected)
	require.Nil(t, pa.Claim(0), "the connection has ended")
	require.Nil(t, pb.Claim(0))
}

// TestPausesEndWithTheStream: a receiver of a stream pauses when it finds nothing, but not for long, and not between messages that are answered.
func TestPausesEndWithTheStream(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	for range 2 * streamAfter {
		require.NoError(t, pb.PostRecv(recvLoan()))
		mustSend(t, pa, pattern(8, 1))
		take(f, pb, true, func([]byte) {})
	}
	c := pb.conn
	streams := c.arrivedInRow
	require.Greater(t, streams, uint32(streamAfter))
	var small [nic.InlineMax]byte
	for range streams {
		if cookie, _, _, _ := pb.dev.Take(&small); cookie != nil {
			t.Fatal("there was nothing to take")
		}
	}
	require.EqualValues(t, streamAfter, c.arrivedInRow)
	require.NoError(t, pa.PostRecv(recvLoan()))
	mustSend(t, pb, pattern(8, 1))
	require.Zero(t, c.arrivedInRow, "an answer ends a stream")
}
