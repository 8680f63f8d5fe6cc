package via

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// link is a VI and what belongs to it, until its last descriptor is back. A remote
// uses at most one; others are being closed.
type link struct {
	r        *remote
	id       peer.Link
	vi       *vipl.VI
	tag      vipl.ProtectionTag
	ownTag   bool
	accepted bool // the peer connected to us

	myID       peer.ID // by which the peer marks what it sends over this link
	generation uint32

	theirMTU   int
	theirFlags wire.ConnFlags
	reads      bool // both sides may read memory over this link
	writes     bool // both sides may write memory over this link

	recvs    []nic.Descriptor
	credits  int             // receives posted at first: the peer's credits
	unposted *nic.Descriptor // receives that the NIC had no room for, linked by Next
	waiting  int             // how many; their credits are owed once they are posted
	memory   *vipl.Memory    // under recvs, if the NIC does not lend buffers
	closing  bool
}

var errResource = errors.New("via: out of links")

// openLink makes a VI, posts its receives, and puts it into use.
func (m *method) openLink(r *remote, id peer.Link) (*link, error) {
	if r.link != nil {
		panic("via: a peer has two links in use")
	}
	l := &link{r: r, id: id}
	if err := m.equip(l); err != nil {
		m.discard(l)
		return nil, fmt.Errorf("%w: %w", errResource, err)
	}
	r.link, r.vi = l, l.vi
	r.sendSeq, r.recvSeq = 0, 0
	r.theirID, r.myID = 0, matchbits.PeerID(l.myID)
	r.packetBytes = wire.MTUMin - wire.HeaderLen
	r.eagerBytes = 0
	r.assembly = assembly{}
	r.credits.Reset(wire.CreditsMin, l.credits)
	return l, nil
}

// equip allocates what a link needs.
func (m *method) equip(l *link) (err error) {
	var ok bool
	if l.myID, l.generation, ok = m.links.Take(l); !ok {
		return fmt.Errorf("all peer ids are in use")
	}
	if l.tag, err = m.linkTag(l); err != nil {
		return err
	}
	l.vi, err = m.nic.CreateVI(vipl.VIAttributes{
		Reliability: m.reliability,
		Tag:         l.tag,
		RemoteWrite: m.caps.RDMAWrite,
		RemoteRead:  m.caps.RDMARead,
		RecvDepth:   m.recvDepth,
	}, m.cq, m.cq)
	if err != nil {
		return err
	}
	m.vis++
	l.vi.User = l
	l.recvs = make([]nic.Descriptor, m.recvDepth)
	if !m.caps.LoansRecv {
		buf := make([]byte, m.recvDepth*m.caps.MTUBytes)
		if l.memory, err = m.nic.RegisterMem(buf, vipl.MemAttributes{Tag: l.tag}); err != nil {
			return err
		}
	}
	for i := range l.recvs {
		d := &l.recvs[i]
		if l.memory != nil {
			d.Segments = []nic.Segment{l.memory.Segment(i*m.caps.MTUBytes, m.caps.MTUBytes)}
		}
		if err := m.repost(l, d); err != nil {
			return err
		}
	}
	for l.credits = len(l.recvs); l.unposted != nil; l.credits-- {
		l.unposted = l.unposted.Next // never posted, so no credit of the peer's
	}
	l.waiting = 0
	if l.credits < wire.CreditsMin {
		return nic.ErrAgain
	}
	return nil
}

// linkTag gives each link a protection tag of its own, so that no peer can access
// memory that was opened for another. With a NIC that sends only from registered
// memory, all links share the send buffers and so one tag.
func (m *method) linkTag(l *link) (vipl.ProtectionTag, error) {
	if !m.caps.UnregisteredSend {
		return m.sharedTag, nil
	}
	tag, err := m.nic.CreatePtag()
	l.ownTag = err == nil
	return tag, err
}

// repost posts a receive again. If the NIC has no room now, a later Poll tries it.
func (m *method) repost(l *link, d *nic.Descriptor) error {
	d.Op, d.Flags, d.Status, d.Length, d.Data = nic.OpRecv, nic.FlagLoan, nic.StatusPending, 0, nil
	err := l.vi.PostRecv(d)
	if errors.Is(err, nic.ErrAgain) {
		d.Next, l.unposted = l.unposted, d
		l.waiting++
		return nil
	}
	return err
}

// repostAll posts the receives that the NIC had no room for.
func (m *method) repostAll(r *remote) {
	l := r.link
	for d := l.unposted; d != nil; d = l.unposted {
		l.unposted = d.Next
		d.Next = nil
		l.waiting--
		if err := m.repost(l, d); err != nil {
			m.retryLater(r, err)
			return
		}
		if l.unposted == d {
			m.stall(r)
			return
		}
		r.credits.Owe()
	}
}

// closeLink takes the link out of use. Its descriptors come back flushed.
func (m *method) closeLink(r *remote) {
	l := r.link
	if l == nil {
		return
	}
	if r.connected {
		r.count.Disconnects++
	}
	r.connected, r.open, r.broken = false, false, false
	if past := r.linkStats(); past != (bmi.LinkStats{}) {
		r.pastLinks = &past
	}
	r.link, r.vi = nil, nil
	for r.control.Head() != nil {
		m.givePacket(r.control.Pop()) // it cannot be sent any more
	}
	m.links.Give(l.myID, l.generation)
	l.closing = true
	if err := l.vi.Disconnect(); err != nil {
		m.discard(l) // it was never connected
		return
	}
	if l.vi.State() == vipl.Idle {
		m.discard(l)
	}
}

// discard frees a link that is no longer used, once its descriptors are back.
func (m *method) discard(l *link) {
	if !l.closing {
		m.links.Give(l.myID, l.generation)
	}
	if l.vi != nil {
		m.vis--
		if err := l.vi.Destroy(); err != nil {
			m.log.Warn("via: cannot destroy a VI", "peer", l.r.name, "error", err)
			return
		}
	}
	if l.memory != nil {
		if err := l.memory.Deregister(); err != nil {
			m.log.Warn("via: cannot deregister receive buffers", "peer", l.r.name, "error", err)
		}
	}
	if l.ownTag {
		m.oldTags = append(m.oldTags, l.tag)
	}
}

// linkEvent handles what happened to the connection of a VI.
func (m *method) linkEvent(ev *vipl.ConnEvent) {
	if ev.Kind == vipl.EventRequest {
		m.requested(ev.Request)
		return
	}
	if ev.VI == nil {
		m.log.Warn("via: error of the NIC", "error", ev.Err)
		return
	}
	l := ev.VI.User.(*link)
	r := l.r
	if r.link != l {
		if ev.Kind == vipl.EventDisconnected || ev.Kind == vipl.EventConnectFailed {
			m.discard(l)
		}
		return
	}
	switch ev.Kind {
	case vipl.EventConnected:
		r.source.Store(nil)
		if at := l.vi.SourceAddr(); l.accepted && at.IsValid() {
			r.source.Store(&at)
		}
		m.step(r, peer.Event{Kind: peer.EventLinkUp, Link: l.id})
	case vipl.EventConnectFailed:
		m.linkFailed(r, l.id, ev.Err)
	case vipl.EventDisconnected:
		m.linkBroke(r, ev.Err)
	case vipl.EventError:
		m.log.Warn("via: error of a link", "peer", r.name, "error", ev.Err)
	}
}

// rdmaUsable reports whether RDMA works over this link.
func (m *method) rdmaUsable(l *link) bool {
	return (m.caps.RDMARead || m.caps.RDMAWrite) && nic.RDMAUsable(l.vi.Port())
}
