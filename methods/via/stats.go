package via

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/peer"
)

// traffic adds methods to bmi.Traffic.
type traffic struct{ bmi.Traffic }

func (t *traffic) sentEager(kind bmi.Kind, size int) {
	t.MessagesSent++
	t.BytesSent += uint64(size)
	t.EagerSent++
	if kind == bmi.KindSendUnexpected {
		t.UnexpectedSent++
	}
}

func (t *traffic) receivedLarge(size int) {
	t.MessagesReceived++
	t.BytesReceived += uint64(size)
	t.RendezvousReceived++
}

func (t *traffic) sentLarge(size int) {
	t.MessagesSent++
	t.BytesSent += uint64(size)
	t.RendezvousSent++
}

// countError counts an operation that was cancelled. Errors of a connection are counted once,
// when it ends, and those of receives by the inbox.
func (m *method) countError(err error) {
	if errors.Is(err, bmi.ErrCancelled) {
		m.errors.Cancelled++
	}
}

// Stats counts (bmi.Statser).
func (m *method) Stats(peers []bmi.PeerStats) (bmi.MethodStats, []bmi.PeerStats) {
	total := m.past
	s := bmi.MethodStats{
		Method:        m.name,
		Errors:        m.errors,
		PostedRecvs:   m.inbox.Recvs(),
		EarlyMessages: m.inbox.Early(),
	}
	for r := range m.known() {
		count := r.traffic()
		total.Add(&count)
		s.Peers++
		if r.link.Open() {
			s.Connected++
		}
		credits := r.link.Credits()
		peers = append(peers, bmi.PeerStats{
			Method:           m.name,
			Addr:             r.name,
			State:            r.fsm.State().String(),
			Traffic:          count,
			CreditsAvailable: credits.Available(),
			CreditsOwed:      credits.Owed(),
			Refs:             r.fsm.Refs() + r.inbox.Recvs(),
			Link:             r.linkStats(),
		})
	}
	s.Traffic = total.Traffic
	info := m.links.SystemInfo()
	s.Link, s.Packets = bmi.LinkStats(info.Link), bmi.PacketStats(info.Packets)
	return s, peers
}

// traffic is what a peer's operations counted, and its link.
func (r *remote) traffic() bmi.Traffic {
	t := r.count.Traffic
	t.CreditsSent = r.link.CreditsSent()
	return t
}

// linkStats is the sum of the statistics of all links with a peer.
func (r *remote) linkStats() (sum bmi.LinkStats) {
	if r.pastLinks != nil {
		sum = *r.pastLinks
	}
	now := bmi.LinkStats(r.link.Stats())
	sum.Add(&now)
	return sum
}

// known walks the records of all peers, including dropped ones that still drain.
func (m *method) known() func(func(*remote) bool) {
	return func(yield func(*remote) bool) {
		for id := peer.ID(1); int(id) <= m.newestID; id++ {
			if r, ok := m.remotes.Lookup(id); ok && !yield(r) {
				return
			}
		}
	}
}
