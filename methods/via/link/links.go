package link

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

const (
	// completionsPerPoll bounds the work of one Poll.
	completionsPerPoll = 32

	// cqEntries is the initial size of the completion queue. It only holds what a
	// Poll of another queue found.
	cqEntries = 256

	// causeWaitPolls is how many Polls to wait for the event that says why a link
	// ended, once its descriptors have come back.
	causeWaitPolls = 64
)

// ErrUnsuitable: the NIC cannot carry the protocol.
var ErrUnsuitable = errors.New("link: unsuitable NIC")

// A Consumer handles what happens to the links of an endpoint. Poll calls it, except
// for PollSoon, which any call may need. It may use and close any link.
type Consumer interface {
	// Arrived handles a packet. shared: the peer may still write to body. withhold
	// reports that its credit must not be returned before Release. An error is a breach
	// of the protocol: Breached follows.
	Arrived(l *Link, h wire.Header, body []byte, shared bool) (withhold bool, err error)
	// Finished is told that the NIC has finished with a packet that used bytes of the
	// memory of op (Packet.Lend). err is nil, a *FileError, or why the link breaks.
	Finished(op any, bytes int, err error)
	// Resume is told that a link may take more: the NIC has room, or a credit came back.
	Resume(l *Link)
	// Requested is told of a connect request, to be answered by Accept or Refuse. err
	// is not nil if the request cannot be read.
	Requested(q *Request, err error)
	// Up is told that the NICs have connected.
	Up(l *Link)
	// Failed is told that an attempt to connect has ended.
	Failed(l *Link, err error)
	// Broke is told that a link has broken. It must close the link.
	Broke(l *Link, err error)
	// Breached is told that the peer broke the protocol. It must close the link.
	Breached(l *Link, err error)
	// PollSoon asks for a Poll even if nothing arrives.
	PollSoon()
}

// Config is what Open needs to know.
type Config struct {
	Listen string // the name to listen at, in the provider's syntax; "": none
	Clock  func() time.Duration
	Log    *slog.Logger
	// Credits is how many receives each link posts, if the NIC's queues are that long.
	Credits int
}

// Links are the NIC of an endpoint and all connections over it. They belong to one
// goroutine at a time.
type Links struct {
	// What every packet touches comes first.
	packets
	cq       *vipl.CQ
	consumer Consumer
	done     [completionsPerPoll]vipl.Completion
	events   [4]vipl.ConnEvent
	small    [nic.InlineMax]byte // a small packet that Take took, until it is handled

	broken               []*Link // about to be closed
	stalled, stalledNext []*Link // waiting for room in the NIC, or just given credits

	*vipl.NIC
	depth       int // receives of each link
	reliability nic.Reliability
	ids         *peer.IDs[*channel]
	vis         int // that exist, also those on their way out
	underWay    int // packets that the NIC has not finished
	oldTags     []vipl.ProtectionTag
}

// Open opens a NIC. It returns ErrUnsuitable if the NIC cannot carry the protocol.
func Open(p nic.Provider, cfg Config) (*Links, error) {
	n, err := vipl.OpenNIC(p, vipl.NICConfig{Listen: cfg.Listen, Clock: cfg.Clock, Log: cfg.Log, Events: true})
	if err != nil {
		return nil, err
	}
	caps := n.Caps()
	ls := &Links{
		NIC: n, packets: packets{caps: caps, nic: n, log: cfg.Log},
		depth:       min(cfg.Credits, caps.RecvDepthMax),
		reliability: min(nic.ReliableDelivery, caps.Reliability),
		ids:         peer.NewIDs[*channel](peer.IDMax, peer.IDQuarantine),
	}
	if err := ls.equip(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return ls, nil
}

func (ls *Links) equip() (err error) {
	provider := ls.Query().Provider
	if ls.caps.Reliability < nic.ReliableDelivery {
		return fmt.Errorf("%w: %s has no reliable delivery", ErrUnsuitable, provider)
	}
	if ls.depth < wire.CreditsMin || ls.caps.MTUBytes < wire.MTUMin {
		return fmt.Errorf("%w: %s has queues of %d descriptors and packets of %d bytes, want %d and %d",
			ErrUnsuitable, provider, ls.caps.RecvDepthMax, ls.caps.MTUBytes, wire.CreditsMin, wire.MTUMin)
	}
	if ls.cq, err = ls.CreateCQ(cqEntries); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	if ls.tag, err = ls.CreatePtag(); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	return nil
}

// Serve sets the consumer, before the first Poll.
func (ls *Links) Serve(c Consumer) { ls.consumer = c }

// Depth is how many receives a link posts for its peer: the peer's credits.
func (ls *Links) Depth() int { return ls.depth }

// DirectBytes is the size of the largest body that SendNow can take; < 0: none.
func (ls *Links) DirectBytes() int {
	if _, ok := ls.Device().(nic.DirectDevice); !ok {
		return -1
	}
	return ls.caps.MTUBytes - wire.HeaderLen
}

// UnderWay is how many packets the NIC has not finished with.
func (ls *Links) UnderWay() int { return ls.underWay }

// Live is how many connections there are, those on their way out included.
func (ls *Links) Live() int { return ls.vis }

// CanonicalAddr is the one name that the NIC has for what name stands for.
func (ls *Links) CanonicalAddr(name string) (string, error) {
	if n, ok := ls.Device().(nic.Namer); ok {
		return n.CanonicalAddr(name)
	}
	return name, nil
}

// Poll handles what the NIC has ready, and closes the links that broke.
func (ls *Links) Poll() bool {
	did, idle := ls.takeDirect()
	if !idle {
		did = ls.pollNIC() || did
	}
	if len(ls.broken) > 0 {
		ls.endBroken()
		did = true
	}
	return did
}

// takeDirect handles the packets that the NIC has ready and needs no descriptor for.
// idle is true if it has nothing else, either.
func (ls *Links) takeDirect() (did, idle bool) {
	dev := ls.cq.Direct()
	if dev == nil {
		return false, false
	}
	for range ls.done {
		cookie, data, lent, idle := dev.Take(&ls.small)
		if cookie == nil {
			return did, idle
		}
		did = true
		c := cookie.(*vipl.VI).User.(*channel)
		withhold, ok := false, false
		if !c.closing {
			withhold, ok = c.arrived(data, lent)
		}
		if lent {
			dev.Return()
		}
		if ok && c.link.credits.Owe(withhold) {
			c.link.returnCredits()
		}
	}
	return did, false
}

// pollNIC handles completions and what happened to connections.
func (ls *Links) pollNIC() (did bool) {
	n := ls.cq.Poll(ls.done[:])
	for i := range ls.done[:n] {
		c := &ls.done[i]
		if c.Queue == vipl.QueueRecv {
			c.VI.User.(*channel).received(c.Desc)
		} else {
			ls.finished(c.Desc.Cookie.(*Packet))
		}
	}
	if k := ls.PollEvents(ls.events[:]); k > 0 {
		ls.connEvents(k)
		return true
	}
	return n > 0
}
