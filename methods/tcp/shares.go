package tcp

import (
	"net/netip"

	"github.com/viaduct-hpc/viaduct/internal/names"
	"github.com/viaduct-hpc/viaduct/internal/queue"
)

// shares are the inbound connections, grouped by remote host. At the limit, a host with fewer connections than another takes
// the place of one of the other's.
type shares struct {
	hosts map[netip.Prefix]*share
	with  []queue.List[share] // with[n] are the hosts with n connections
	most  int                 // the largest n of any host
	all   int
}

// A share is the connections of one host. It exists while the host has connections.
type share struct {
	host  netip.Prefix
	conns queue.List[conn]   // in the order of arrival
	links queue.Links[share] // with the other hosts that have as many connections
}

func newShares() shares { return shares{hosts: make(map[netip.Prefix]*share)} }

// add puts a connection into the share of its host.
func (s *shares) add(c *conn) {
	at := names.Host(c.stream.Remote().Addr())
	h := s.hosts[at]
	if h == nil {
		h = &share{host: at}
		s.hosts[at] = h
	} else {
		s.with[h.conns.Len()].Remove(&h.links)
	}
	c.share = h
	h.conns.Add(c, &c.shareLinks)
	s.all++
	s.place(h)
}

// remove takes a connection out.
func (s *shares) remove(c *conn) {
	h := c.share
	c.share = nil
	s.with[h.conns.Len()].Remove(&h.links)
	h.conns.Remove(&c.shareLinks)
	s.all--
	if h.conns.Len() == 0 {
		delete(s.hosts, h.host)
	} else {
		s.place(h)
	}
	for s.most > 0 && s.with[s.most].Len() == 0 {
		s.most--
	}
}

// place lists a host by its number of connections.
func (s *shares) place(h *share) {
	n := h.conns.Len()
	for len(s.with) <= n {
		s.with = append(s.with, queue.List[share]{})
	}
	s.with[n].Add(h, &h.links)
	s.most = max(s.most, n)
}

// examinedMax is how many connections of a host are examined to find one that can be closed.
const examinedMax = 256

// leastFor returns the connection to close for a new one of a host: of the host with the most connections, the one that was
// silent for longest and has nothing under way, if there is one. It is nil if no host has more connections than this one would
// have.
func (s *shares) leastFor(from netip.Addr) *conn {
	has := 0
	if h := s.hosts[names.Host(from)]; h != nil {
		has = h.conns.Len()
	}
	if s.most <= has+1 {
		return nil
	}
	top := s.with[s.most].First()
	var least *conn
	examined := 0
	for c := top.conns.First(); c != nil && examined < examinedMax; c = c.shareLinks.Next() {
		examined++
		if least == nil || c.lessThan(least) {
			least = c
		}
	}
	return least
}

// lessThan reports whether closing c loses less than closing d.
func (c *conn) lessThan(d *conn) bool {
	if cw, dw := c.waits(), d.waits(); cw != dw {
		return !cw
	}
	return c.lastData < d.lastData
}

// waits reports whether local operations wait for the other side.
func (c *conn) waits() bool { return c.r != nil && c.r.waits() }
