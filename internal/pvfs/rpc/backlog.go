package rpc

import (
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/names"
)

// A backlog holds requests that wait for a worker. It serves the hosts in turn, the clients of a host in turn, and the requests
// of a client in order of arrival. Many connections from one host get no more than one connection.
type backlog struct {
	clients map[bmi.Addr]*client
	hosts   map[string]*host
	names   map[bmi.Addr]string // cached hosts of recent peers, because hostOf is slow
	turn    []*host             // hosts with requests; turn[0] is the next
	n       int                 // requests

	source func(bmi.Addr) netip.AddrPort // bmi.Endpoint.SourceAddr
}

// A host is the origin of some clients. It exists while one of its clients does.
type host struct {
	name             string
	turn             []*client // clients with requests; turn[0] is the next
	clients          int
	waiting, running int
}

// A client is one peer's part of a backlog. It exists while it has requests that wait or run.
type client struct {
	host    *host
	waiting []arrival
	running int
}

// An arrival is a request and the time of its arrival, for the trace.
type arrival struct {
	bmi.Unexpected
	at time.Duration
}

func newBacklog(source func(bmi.Addr) netip.AddrPort) backlog {
	return backlog{source: source, clients: make(map[bmi.Addr]*client), hosts: make(map[string]*host), names: make(map[bmi.Addr]string)}
}

// nameOf is hostOf with a cache.
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

// hostOf names the host of a peer.
func (b *backlog) hostOf(a bmi.Addr) string {
	if at := b.source(a); at.IsValid() {
		return names.Host(at.Addr()).String()
	}
	return HostOf(a.String())
}

// HostOf names the host in the address of a client, for limits that are shared by hosts (names.Host): it is the same for all ports, methods and
// addresses of a host. A client that another user of this machine runs belongs to that user. If the address names no host, the client
// counts as one.
func HostOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	if strings.HasPrefix(rest, bmi.OtherUserMark) {
		user, _, _ := strings.Cut(rest, ".")
		return user // all processes of a user of this machine
	}
	name, _, err := net.SplitHostPort(rest)
	if err != nil {
		return address
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return name
	}
	return names.Host(ip).String()
}

// put adds a request. It refuses if the client has reached its limit, most, or if the host has half of the room that other hosts
// leave. A host without waiting requests always has room.
func (b *backlog) put(m arrival, most, room int) bool {
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

// places limit the requests that run. A host gets at most half of the places that other hosts leave. A host that has none may
// exceed the limit.
type places struct{ running, most int }

// may reports whether a host with this many places gets another one. A host that has none gets one even if all are taken, because the
// others may hold theirs for long.
func (p places) may(has int) bool {
	free := p.most - p.running
	return has < free || has == 0 && free > -p.most
}

// take returns a request of the next host that gets a place, and counts it as running.
func (b *backlog) take(p places) (arrival, bool) {
	for i, h := range b.turn {
		if !p.may(h.running) {
			continue
		}
		c := h.turn[0]
		m := c.waiting[0]
		c.waiting[0] = arrival{}
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
	return arrival{}, false
}

// toTheEnd moves an element of a list to its end, or removes it.
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

// done records that a client's request has ended.
func (b *backlog) done(a bmi.Addr) {
	b.count(a, -1)
	b.forget(a)
}

// count changes the number of a client's running requests.
func (b *backlog) count(a bmi.Addr, by int) {
	c := b.client(a)
	c.running += by
	c.host.running += by
}

// forget drops a client that has no waiting or running requests.
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
