package tcp

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// traffic adds methods to bmi.Traffic.
type traffic struct{ bmi.Traffic }

func (t *traffic) sent(op *bmi.Op) {
	t.MessagesSent++
	t.BytesSent += uint64(op.Size)
	switch {
	case op.Kind == bmi.KindSendUnexpected:
		t.UnexpectedSent++
		t.EagerSent++
	case op.Size > wire.EagerMax:
		t.RendezvousSent++
	default:
		t.EagerSent++
	}
}

// Stats returns the counts (bmi.Statser).
func (m *method) Stats(peers []bmi.PeerStats) (bmi.MethodStats, []bmi.PeerStats) {
	total, now := m.past, m.clock()
	s := bmi.MethodStats{
		Method:        m.name,
		Errors:        m.errors,
		PostedRecvs:   m.inbox.Recvs(),
		EarlyMessages: m.inbox.Early(),
		Connected:     m.conns,
	}
	for r := range m.known() {
		total.Add(&r.count.Traffic)
		s.Peers++
		p := bmi.PeerStats{
			Method:      m.name,
			Addr:        r.name,
			State:       r.state().String(),
			Traffic:     r.count.Traffic,
			Refs:        r.sends.Len() + r.inbox.Recvs(),
			QueuedSends: r.sends.Len(),
		}
		for s := r.sends.First(); s != nil; s = s.links.Next() {
			p.QueuedBytes += max(s.op.Size-s.sent, 0)
		}
		if r.since > 0 {
			p.Age = now - r.since
		}
		peers = append(peers, p)
	}
	s.Traffic = total.Traffic
	return s, peers
}

// state is the state of the connection, in the terms that all methods use.
func (r *remote) state() peer.State {
	switch {
	case r.c != nil && r.c.state == connOpen:
		return peer.Ready
	case r.dial != nil:
		return peer.Wait
	}
	return peer.Init
}

// known walks the records of all peers.
func (m *method) known() func(func(*remote) bool) {
	return func(yield func(*remote) bool) {
		for id := peer.ID(1); int(id) <= m.newestID; id++ {
			if r, ok := m.remotes.Lookup(id); ok && !yield(r) {
				return
			}
		}
	}
}
