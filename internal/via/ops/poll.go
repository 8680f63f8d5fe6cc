package ops

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/inbox"
	"github.com/viaduct-hpc/viaduct/internal/via/bulk"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/peers"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
)

// Config is what New needs to know, except for Wake and Errors.
type Config struct {
	peers.Config
	Host       bmi.Host
	EagerBytes int    // the largest message that is sent without asking; less if the NIC's packets are small
	SplitBytes int    // from this size on, each side moves half of a large message
	Secret     uint64 // the seed of the match table
}

// New makes the operations of an endpoint, and the consumer of its links.
func New(links *link.Links, cfg Config) *Ops {
	caps := links.Caps()
	o := &Ops{
		host: cfg.Host, links: links, caps: caps,
		eagerBytes: min(cfg.EagerBytes, EagerPacketsMax*(caps.MTUBytes-wire.HeaderLen)),
		splitBytes: cfg.SplitBytes,
		nowBytes:   links.NowBytes(),
		ways:       make(map[*Peer]*bulk.Chooser),
	}
	cfg.Wake, cfg.Errors = cfg.Host.Wake, &bmi.ErrorCounts{}
	cfg.Machine.Local.EagerBytes = uint32(o.eagerBytes)
	o.Peers = peers.New(links, o, cfg.Config)
	o.inbox = inbox.New(inbox.Options{
		Seed: cfg.Secret, EagerBytes: ExpectedBytesMax, Host: cfg.Host, Buffers: &o.buffers, Errors: cfg.Errors,
	})
	links.Serve(o)
	return o
}

// EagerBytes is the largest message that is sent without asking.
func (o *Ops) EagerBytes() int { return o.eagerBytes }

// Poll makes progress (bmi.Method).
func (o *Ops) Poll() bool {
	o.budget = RDMAPollBytes
	did := o.links.Poll()
	if o.moving.Len()+o.settling.Len()+o.withdrawing.Len() > 0 || o.links.Unfinished() || o.inbox.Holds() {
		did = o.unfinished() || did
	}
	if o.polls++; o.polls%HousekeepingPolls == 0 {
		did = o.Tick() || did
	}
	return did
}

// unfinished continues what earlier Polls left unfinished.
func (o *Ops) unfinished() (did bool) {
	if o.moving.Len() > 0 {
		did = o.moveAll() || did
	}
	if o.links.Unfinished() {
		did = o.links.Resume() || did
	}
	if o.settling.Len() > 0 {
		o.settleAll()
		did = true
	}
	if o.withdrawing.Len() > 0 {
		o.withdrawAll()
		did = true
	}
	if o.inbox.Holds() {
		did = o.inbox.OfferHeld(o.heldTaken) || did
	}
	return did
}

// Restless reports whether a Poll is due although nothing may arrive.
func (o *Ops) Restless() bool {
	return o.moving.Len()+o.settling.Len()+o.withdrawing.Len() > 0 || o.links.Restless()
}

// LookAtClock lets the next Poll see which deadlines have passed.
func (o *Ops) LookAtClock() { o.polls = HousekeepingPolls - 1 }
