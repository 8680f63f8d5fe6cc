package link

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/peer"
)

// cqEntries is the initial size of the completion queue. It only holds what a
// Poll of another queue found.
const cqEntries = 256

// ErrUnsuitable: the NIC cannot carry the protocol.
var ErrUnsuitable = errors.New("link: unsuitable NIC")

// Config is what Open needs to know.
type Config struct {
	Listen string // the name to listen at, in the provider's syntax; "": none
	Clock  func() time.Duration
	Log    *slog.Logger
	// Credits is how many receives each link posts, if the NIC's queues are that long.
	Credits int
	// TimedOut is nic.Config.TimedOut.
	TimedOut func(remote string)
}

// Open opens a NIC. It returns ErrUnsuitable if the NIC cannot carry the protocol.
func Open(p nic.Provider, cfg Config) (*Links, error) {
	n, err := vipl.OpenNIC(p, vipl.NICConfig{Listen: cfg.Listen, Clock: cfg.Clock, Log: cfg.Log, TimedOut: cfg.TimedOut, Events: true})
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

// NowBytes is the size of the largest body that SendNow can take; < 0: none.
func (ls *Links) NowBytes() int {
	if _, ok := ls.Device().(nic.DirectDevice); !ok {
		return -1
	}
	return ls.caps.MTUBytes - wire.HeaderLen
}

// UnderWay is how many packets the NIC has not finished with.
func (ls *Links) UnderWay() int { return ls.underWay }

// Live is the number of connections, including those that are being closed.
func (ls *Links) Live() int { return ls.vis }

// CanonicalAddr returns the canonical form of a name, as the NIC defines it.
func (ls *Links) CanonicalAddr(name string) (string, error) {
	if n, ok := ls.Device().(nic.Namer); ok {
		return n.CanonicalAddr(name)
	}
	return name, nil
}

// Poll handles what the NIC has ready, first the packets that need no descriptor, and
// closes the links that broke. The compiler inlines hot calls into a function that is not
// inlined itself.
//
//go:noinline
func (ls *Links) Poll() (did bool) {
	dev, idle := ls.cq.Direct(), false
	for n := 0; dev != nil && n < completionsPerPoll; n++ {
		cookie, data, lent, nothing := dev.Take(&ls.small)
		if cookie == nil {
			idle = nothing
			break
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
	if !idle {
		did = ls.pollNIC() || did
	}
	if len(ls.broken) > 0 {
		ls.endBroken()
		did = true
	}
	return did
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
