package rpc

import (
	"net"
	"net/netip"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/names"
)

// A backlog holds requests that wait for a worker. It gives them out by hosts in turn, of each host by clients in turn, and each
// client's in the order of their arrival. Many connections of one host get no more than one does.
type backlog struct {
	clients map[bmi.Addr]*client
	hosts   map[string]*host
	names   map[bmi.Addr]string // hosts of peers that asked lately: it takes longer to find out than to remember
	turn    []*host             // those with requests; turn[0] is the next
	n       int                 // requests

	source func(bmi.Addr) netip.AddrPort // bmi.Endpoint.SourceAddr
}

// A host is where some clients are. It is there while one of its clients is.
type host struct {
	name             string
	turn             []*client // those with requests; turn[0] is the next
	clients          int
	waiting, running int
}

// A client is one peer's part of a backlog. It is there while requests wait or run.
type client struct {
	host    *host
	waiting []bmi.Unexpected
	running int
}

func newBacklog(source func(bmi.Addr) netip.AddrPort) backlog {
	return backlog{source: source, clients: make(map[bmi.Addr]*client), hosts: make(map[string]*host), names: make(map[bmi.Addr]string)}
}

// nameOf is hostOf, remembered.
func (b *backlog) nameOf(a bmi.Addr) string {
	name, ok := b.names[a]
	if !ok {
		if len(b.names) == hostsKnownMax {
			clear(b.names)
		}
		name = b.hostOf(a)
		b.names[a] = name
	}
	return name
}

// hostOf is the host of a peer (names.Host), of a peer that another user of this machine runs that user, or the peer itself if its address names none.
func (b *backlog) hostOf(a bmi.Addr) string {
	if at := b.source(a); at.IsValid() {
		return names.Host(at.Addr()).String()
	}
	text := a.String()
	_, rest, _ := strings.Cut(text, "://")
	if strings.HasPrefix(rest, bmi.OtherUserMark) {
		user, _, _ := strings.Cut(rest, ".")
		return user // all processes of a user of this machine
	}
	name, _, err := net.SplitHostPort(rest)
	if err != nil {
		return text
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return name
	}
	return names.Host(ip).String()
}

// put adds a request, unless its client has most waiting already, or its host more than half of the room that others leave. So
// there is always room for a host with few requests.
func (b *backlog) put(m bmi.Unexpected, most, room int) bool {
	c := b.client(m.From)
	if len(c.waiting) >= most || c.host.waiting > 0 && c.host.waiting >= room-b.n {
		return false
	}
	if len(c.waiting) == 0 {
		if len(c.host.turn) == 0 {
			b.turn = append(b.turn, c.host)
		}
		c.host.turn = append(c.host.turn, c)
	}
	c.waiting = append(c.waiting, m)
	c.host.waiting++
	b.n++
	return true
}

func (b *backlog) client(a bmi.Addr) *client {
	c := b.clients[a]
	if c == nil {
		name := b.nameOf(a)
		h := b.hosts[name]
		if h == nil {
			h = &host{name: name}
			b.hosts[name] = h
		}
		h.clients++
		c = &client{host: h}
		b.clients[a] = c
	}
	return c
}

// places are for requests that run. No host gets more than half of those that others leave, and one that has none may go beyond the
// limit.
type places struct{ running, most int }

// may reports whether a host that has so many gets another one. A host that has none gets one even if all are taken: the others may
// keep theirs for long.
func (p places) may(has int) bool {
	free := p.most - p.running
	return has < free || has == 0 && free > -p.most
}

// take gives a request of the next host that gets a place, and counts it as running.
func (b *backlog) take(p places) (bmi.Unexpected, bool) {
	for i, h := range b.turn {
		if !p.may(h.running) {
			continue
		}
		c := h.turn[0]
		m := c.waiting[0]
		c.waiting[0] = bmi.Unexpected{}
		if c.waiting = c.waiting[1:]; len(c.waiting) == 0 {
			c.waiting = nil
		}
		h.turn = toTheEnd(h.turn, 0, c.waiting != nil)
		b.turn = toTheEnd(b.turn, i, len(h.turn) > 0)
		b.n--
		h.waiting--
		c.running++
		h.running++
		return m, true
	}
	return bmi.Unexpected{}, false
}

// toTheEnd moves an element of a list to its end, or takes it out.
func toTheEnd[E any](list []*E, i int, again bool) []*E {
	e := list[i]
	copy(list[i:], list[i+1:])
	if again {
		list[len(list)-1] = e
		return list
	}
	list[len(list)-1] = nil
	return list[:len(list)-1]
}

// done ends the running of a client's request.
func (b *backlog) done(a bmi.Addr) {
	b.count(a, -1)
	b.forget(a)
}

// count changes how many requests of a client are running.
func (b *backlog) count(a bmi.Addr, by int) {
	c := b.client(a)
	c.running += by
	c.host.running += by
}

// forget drops a client with nothing that waits or runs.
func (b *backlog) forget(a bmi.Addr) {
	c := b.clients[a]
	if c.running > 0 || len(c.waiting) > 0 {
		return
	}
	delete(b.clients, a)
	if c.host.clients--; c.host.clients == 0 {
		delete(b.hosts, c.host.name)
	}
}
