package relay

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// datagramMax is room for any datagram.
const datagramMax = 65535

// socketBytes is the requested size of socket buffers, large enough that little is
// lost that no Way asked for.
const socketBytes = 4 << 20

// A Relay is a running relay.
type Relay struct {
	opts        Options
	there, back *direction
	ports       []*port
	end         chan struct{}
	done        sync.WaitGroup

	mu     sync.Mutex
	closed bool
	socks  []*net.UDPConn // all, to be closed
}

// port is one Port with its clients.
type port struct {
	r       *Relay
	p       Port
	sock    *net.UDPConn
	clients map[netip.AddrPort]*net.UDPConn // by their address: sockets for the server
}

// Start opens the sockets and relays until Close. For a relay on a host of
// internal/netns, Options.Open is that host's ListenUDP.
func Start(opts Options) (*Relay, error) {
	if len(opts.Ports) == 0 {
		return nil, errors.New("relay: no ports")
	}
	if opts.ClientsMax == 0 {
		opts.ClientsMax = clientsDefault
	}
	if opts.Open == nil {
		opts.Open = func(at netip.AddrPort) (*net.UDPConn, error) {
			return net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		}
	}
	r := &Relay{opts: opts, end: make(chan struct{})}
	r.there, r.back = newDirection(opts.There, opts.Seed, 1, r.end), newDirection(opts.Back, opts.Seed, 2, r.end)
	for _, p := range opts.Ports {
		sock, err := r.open(p.Listen)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("relay: listen at %s: %w", p.Listen, err), r.Close())
		}
		r.ports = append(r.ports, &port{r: r, p: p, sock: sock, clients: make(map[netip.AddrPort]*net.UDPConn)})
	}
	for _, p := range r.ports {
		r.done.Go(p.listen)
	}
	r.done.Go(r.there.run)
	r.done.Go(r.back.run)
	return r, nil
}

// Addr is the address at which clients reach the Port with an index.
func (r *Relay) Addr(i int) netip.AddrPort {
	return r.ports[i].sock.LocalAddr().(*net.UDPAddr).AddrPort()
}

// SetWays changes the treatment of later datagrams.
func (r *Relay) SetWays(there, back Way) {
	r.there.set(there)
	r.back.set(back)
}

// Cut stops each direction for which its argument is true, and opens it otherwise.
// Datagrams whose time comes while it is stopped are lost.
func (r *Relay) Cut(there, back bool) {
	r.there.setCut(there)
	r.back.setCut(back)
}

// Counters returns the counts so far.
func (r *Relay) Counters() (there, back Counters) { return r.there.count(), r.back.count() }

// Close stops the relay; waiting datagrams are lost. A second Close does nothing.
func (r *Relay) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.end)
	var all []error
	for _, s := range r.socks {
		all = append(all, s.Close())
	}
	r.mu.Unlock()
	r.done.Wait()
	return errors.Join(all...)
}

func (d *direction) set(w Way) {
	w.setDefaults()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.way = w
}

func (d *direction) setCut(cut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = cut
}

func (d *direction) count() Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counters
}

func (d *direction) refuse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counters.Received++
	d.counters.Refused++
}

// open opens a socket that Close closes.
func (r *Relay) open(at netip.AddrPort) (*net.UDPConn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, net.ErrClosed
	}
	s, err := r.opts.Open(at)
	if err != nil {
		return nil, err
	}
	// The kernel may allow less, which does no harm.
	_ = s.SetReadBuffer(socketBytes)
	_ = s.SetWriteBuffer(socketBytes)
	r.socks = append(r.socks, s)
	return s, nil
}

// listen relays datagrams of clients.
func (p *port) listen() {
	receive(p.sock, func(from netip.AddrPort, payload []byte) {
		out := p.client(from)
		if out == nil {
			p.r.there.refuse()
			return
		}
		p.r.there.take(payload, func(b []byte) error {
			_, err := out.WriteToUDPAddrPort(b, p.p.Server)
			return err
		})
	})
}

// client is the socket for a client, made for a new client; nil if there is no
// room.
func (p *port) client(from netip.AddrPort) *net.UDPConn {
	if s := p.clients[from]; s != nil {
		return s
	}
	if len(p.clients) >= p.r.opts.ClientsMax {
		return nil
	}
	at := p.p.From
	if !at.IsValid() {
		at = netip.IPv4Unspecified()
		if p.p.Server.Addr().Unmap().Is6() {
			at = netip.IPv6Unspecified()
		}
	}
	s, err := p.r.open(netip.AddrPortFrom(at, 0))
	if err != nil {
		return nil
	}
	p.clients[from] = s
	p.r.done.Go(func() {
		receive(s, func(who netip.AddrPort, payload []byte) {
			if unmap(who) != unmap(p.p.Server) {
				p.r.back.refuse()
				return
			}
			p.r.back.take(payload, func(b []byte) error {
				_, err := p.sock.WriteToUDPAddrPort(b, from)
				return err
			})
		})
	})
	return s
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// receive passes on datagrams of a socket until it is closed. Other errors are
// caused by earlier datagrams (ICMP), and are ignored.
func receive(s *net.UDPConn, fn func(from netip.AddrPort, payload []byte)) {
	buf := make([]byte, datagramMax)
	for {
		n, from, err := s.ReadFromUDPAddrPort(buf)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err == nil:
			fn(from, buf[:n])
		}
	}
}
