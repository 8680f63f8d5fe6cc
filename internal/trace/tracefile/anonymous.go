package tracefile

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
)

// A side is the messages of an endpoint with a peer, one way: what it sent, or what it received.
type side struct {
	endpoint, peer int
	ends           []*end
	key            uint64 // of the messages; two sides of the same messages have the same key
}

// addUp computes the key.
func (s *side) addUp() {
	slices.SortFunc(s.ends, func(a, b *end) int {
		return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.class, b.class), cmp.Compare(a.bytes, b.bytes))
	})
	h := fnv.New64a()
	for _, x := range s.ends {
		fmt.Fprintln(h, x.unexpected, x.class, x.tag, x.bytes)
	}
	s.key = h.Sum64()
}

// anonymous identifies peers that an endpoint knows only by a name of its own, because they have no address. If one such peer and one
// endpoint without an address remain, they are the same. If there are several, a peer is the endpoint that sent exactly the messages
// that came from the peer, unless two peers or two endpoints have sent the same. The result maps an endpoint and its peer to the
// endpoint that the peer is.
func (m *matcher) anonymous() map[[2]int]int {
	unknown, senders := m.nameless()
	found := map[[2]int]int{}
	for at, peers := range unknown {
		for _, peer := range peers {
			from := senders[at]
			if len(peers) > 1 || len(from) > 1 {
				from = slices.DeleteFunc(slices.Clone(from), func(s *side) bool { return s.key != peer.key })
			}
			same := slices.DeleteFunc(slices.Clone(peers), func(s *side) bool { return s != peer && s.key != peer.key })
			if len(from) == 1 && len(same) == 1 {
				found[[2]int{at, peer.peer}] = from[0].endpoint
			}
		}
	}
	return found
}

// namelessMax limits the unknown peers of an endpoint, which are compared with one another.
const namelessMax = 1 << 10

// nameless returns, by endpoint, what it received from unknown peers, and what endpoints without an address sent to it.
func (m *matcher) nameless() (unknown, senders map[int][]*side) {
	listens := map[int]bool{}
	for _, e := range m.address {
		listens[e] = true
	}
	unknown, senders = map[int][]*side{}, map[int][]*side{}
	sides := map[[3]int]*side{}
	add := func(to map[int][]*side, at int, key [3]int, x *end) {
		s := sides[key]
		if s == nil {
			if len(to[at]) == namelessMax {
				return
			}
			s = &side{endpoint: x.endpoint, peer: x.peer}
			sides[key] = s
			to[at] = append(to[at], s)
		}
		s.ends = append(s.ends, x)
	}
	for i := range m.ends {
		x := &m.ends[i]
		to, known := m.address[x.peer]
		switch {
		case !known && !x.sends:
			add(unknown, x.endpoint, [3]int{0, x.endpoint, x.peer}, x)
		case known && x.sends && !listens[x.endpoint]:
			add(senders, to, [3]int{1, x.endpoint, x.peer}, x)
		}
	}
	for _, s := range sides {
		s.addUp()
	}
	return unknown, senders
}
