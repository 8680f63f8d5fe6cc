package table

import "github.com/viaduct-hpc/viaduct/internal/watch"

// Rate is the growth of a counter per second. A counter that has become less began again: 0.
func Rate(before, now uint64, seconds float64) float64 {
	if now <= before || seconds <= 0 {
		return 0
	}
	return float64(now-before) / seconds
}

func ratesOf(before, now *watch.Peer, seconds float64) watch.Rates {
	return watch.Rates{
		BytesSent:        Rate(before.BytesSent, now.BytesSent, seconds),
		BytesReceived:    Rate(before.BytesReceived, now.BytesReceived, seconds),
		MessagesSent:     Rate(before.MessagesSent, now.MessagesSent, seconds),
		MessagesReceived: Rate(before.MessagesReceived, now.MessagesReceived, seconds),
		Retransmissions:  Rate(before.Retransmissions, now.Retransmissions, seconds),
		Lost:             Rate(before.Lost, now.Lost, seconds),
	}
}

// A past finds the peers of an earlier snapshot.
type past struct {
	s     *watch.Snapshot
	peers map[peerKey]*watch.Peer // made when a peer has moved
}

type peerKey struct {
	endpoint        int
	method, address string
}

func index(s *watch.Snapshot) *past { return &past{s: s} }

// find returns an earlier state of a peer. It first looks at the same index, where the peer usually
// is.
func (x *past) find(endpoint, i int, p *watch.Peer) *watch.Peer {
	if x.s == nil || endpoint >= len(x.s.Endpoints) {
		return nil
	}
	if all := x.s.Endpoints[endpoint].Peers; i < len(all) && all[i].Address == p.Address && all[i].Method == p.Method {
		return &all[i]
	}
	if x.peers == nil {
		x.peers = make(map[peerKey]*watch.Peer, peers(x.s))
		for e := range x.s.Endpoints {
			for j := range x.s.Endpoints[e].Peers {
				one := &x.s.Endpoints[e].Peers[j]
				x.peers[peerKey{e, one.Method, one.Address}] = one
			}
		}
	}
	return x.peers[peerKey{endpoint, p.Method, p.Address}]
}
