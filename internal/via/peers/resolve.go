package peers

import (
	"fmt"
	"net/netip"
	"path"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// New makes the peers of an endpoint.
func New(links *link.Links, user User, cfg Config) *Peers {
	if cfg.Report == nil {
		cfg.Report = func(bmi.EventKind, string) {}
	}
	return &Peers{
		Config: cfg, links: links, user: user,
		ids:      peer.NewIDs[*Peer](peer.IDMax, peer.IDQuarantine),
		byHost:   make(map[string]*Peer),
		requests: make(map[peer.Request]*link.Request),
	}
}

// Add sets up the Peer of a new record, for the endpoint at host. It fails if there are more
// of them than the match bits can distinguish.
func (ps *Peers) Add(p *Peer, record bmi.Peer, host string, passive bool) error {
	id, generation, ok := ps.ids.Take(p)
	if !ok {
		return fmt.Errorf("%w: %d peers are known, drop some", bmi.ErrAgain, ps.ids.Live())
	}
	p.id, p.generation = id, generation
	p.name = ps.Scheme + "://" + host
	ps.newest = max(ps.newest, id)
	p.machine.Reset(&ps.Machine, ps.Seed^uint64(id)*0x9e3779b97f4a7c15, passive)
	p.Link.Init(record)
	p.self = host == ps.links.LocalAddr()
	ps.byHost[host] = p
	return nil
}

// Find finds or makes the peer behind an address.
func (ps *Peers) Find(address string) (*Peer, error) {
	host, err := ParseAddress(ps.Scheme, address)
	if err != nil {
		return nil, err
	}
	if host, err = ps.links.CanonicalAddr(host); err != nil {
		return nil, fmt.Errorf("%w: %q: %w", bmi.ErrBadAddress, address, err)
	}
	if p := ps.byHost[host]; p != nil {
		return p, nil
	}
	return ps.user.NewPeer(host, false)
}

// ByID is the peer of a record; nil if it is forgotten.
func (ps *Peers) ByID(id peer.ID) *Peer {
	p, _ := ps.ids.Lookup(id)
	return p
}

// ParseAddress returns the name in an address, scheme://NAME, before the provider sees it.
func ParseAddress(scheme, address string) (host string, err error) {
	host, ok := strings.CutPrefix(address, scheme+"://")
	switch {
	case !ok || host == "":
		return "", fmt.Errorf("%w: %q, want %s://NAME", bmi.ErrBadAddress, address, scheme)
	case len(host) > wire.NameMax:
		return "", fmt.Errorf("%w: %q: name is longer than %d bytes", bmi.ErrBadAddress, address, wire.NameMax)
	}
	for _, c := range host {
		if c <= ' ' || c == 0x7f {
			return "", fmt.Errorf("%w: %q: name has a blank or a control character", bmi.ErrBadAddress, address)
		}
	}
	return host, nil
}

// Source is the network address that the packets of a peer that connected to us come from (bmi.Sourcer).
func (ps *Peers) Source(record bmi.Peer) netip.AddrPort {
	if at := of(record).source.Load(); at != nil {
		return *at
	}
	return netip.AddrPort{}
}

// AuthenticatedName is the name that a connected peer has proved to have to the provider (bmi.Authenticator).
func (ps *Peers) AuthenticatedName(record bmi.Peer) string {
	return of(record).Link.AuthenticatedName()
}

// LocalUser is the user who runs a peer that connected to this endpoint (bmi.UserTeller).
func (ps *Peers) LocalUser(record bmi.Peer) *bmi.User { return of(record).user.Load() }

// InRange tells whether a peer's address matches a pattern in the syntax of
// path.Match (bmi.Ranger), with or without the scheme. Of a peer that connected to us the source address has to match.
func (ps *Peers) InRange(record bmi.Peer, pattern string) (bool, error) {
	p := of(record)
	host := p.host()
	if at := p.source.Load(); at != nil {
		host = at.String()
	}
	ok, err := path.Match(strings.TrimPrefix(pattern, ps.Scheme+"://"), host)
	if err != nil {
		return false, fmt.Errorf("%w: pattern %q: %w", bmi.ErrInvalid, pattern, err)
	}
	return ok, nil
}

// Stats adds up what the peers counted, and appends the statistics of each (bmi.Statser). add
// adds what the owner of the peer knows.
func (ps *Peers) Stats(total *bmi.MethodStats, each []bmi.PeerStats, add func(*Peer, *bmi.PeerStats)) []bmi.PeerStats {
	now := ps.Clock()
	total.Traffic = ps.past
	for p := range ps.All() {
		count := p.count()
		total.Traffic.Add(&count)
		total.Peers++
		if p.Link.Open() {
			total.Connected++
		}
		credits := p.Link.Credits()
		s := bmi.PeerStats{
			Method:           ps.Scheme,
			Addr:             p.name,
			State:            p.machine.State().String(),
			Traffic:          count,
			CreditsAvailable: credits.Available(),
			CreditsOwed:      credits.Owed(),
			Refs:             p.machine.Refs(),
			Link:             p.linkStats(),
		}
		s.WindowBytes, s.InFlightBytes = p.Link.Window()
		if p.since > 0 {
			s.Age = now - p.since
		}
		add(p, &s)
		each = append(each, s)
	}
	return each
}
