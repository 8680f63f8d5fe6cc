package ops

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/via/peers"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// NewPeer makes the record of a peer (peers.User).
func (o *Ops) NewPeer(host string, passive bool) (*peers.Peer, error) {
	r := &Peer{}
	if err := o.Add(&r.Peer, r, host, passive); err != nil {
		return nil, err
	}
	r.inbox.Init(r.ID(), o.host.NewAddr(r), &r.Traffic)
	return &r.Peer, nil
}

// Resolve finds or makes the record behind an address.
func (o *Ops) Resolve(address string) (bmi.Addr, error) {
	p, err := o.Find(address)
	if err != nil {
		return bmi.Addr{}, err
	}
	return of(p).inbox.Addr(), nil
}

// Opened sends what waits for a connection (peers.User).
func (o *Ops) Opened(p *peers.Peer) {
	r := of(p)
	packet := r.Link.PacketBytes()
	eager := min(o.eagerBytes, r.EagerBytes(), EagerPacketsMax*packet)
	r.eagerBytes, r.oneBytes = int32(eager), int32(min(packet, eager))
	o.pump(r)
}

// Waits reports whether operations with a peer, or messages of it, wait (peers.User).
func (o *Ops) Waits(p *peers.Peer) (operations, messages bool) {
	r := of(p)
	return r.all.Len() > 0 || r.inbox.HasRecvs(), r.inbox.Early() > 0 || r.inbox.Holds()
}

// Forgotten drops the messages of a peer (peers.User).
func (o *Ops) Forgotten(p *peers.Peer) {
	r := of(p)
	o.inbox.DropEarly(&r.inbox)
	o.inbox.DropHeld(&r.inbox)
	delete(o.ways, r)
}

// Stats counts (bmi.Statser).
func (o *Ops) Stats(each []bmi.PeerStats) (bmi.MethodStats, []bmi.PeerStats) {
	s := bmi.MethodStats{
		Method:        o.Scheme,
		Errors:        *o.Errors,
		PostedRecvs:   o.inbox.Recvs(),
		EarlyMessages: o.inbox.Early(),
	}
	each = o.Peers.Stats(&s, each, func(p *peers.Peer, s *bmi.PeerStats) {
		r := of(p)
		s.Refs += r.inbox.Recvs()
		s.QueuedSends = r.sends.Len()
		for op := r.sends.First(); op != nil; op = op.queued.Next() {
			s.QueuedBytes += op.op.Size - op.offset
		}
	})
	info := o.links.SystemInfo()
	s.Link, s.Packets = info.Link, info.Packets
	s.Own = append(about.Counts("vi", info), nic.OwnCountsOf(o.links.Device())...)
	return s, each
}
