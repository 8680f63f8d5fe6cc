package via

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/buffers"
	"github.com/viaduct-hpc/viaduct/internal/timers"
	"github.com/viaduct-hpc/viaduct/methods/inbox"
	"github.com/viaduct-hpc/viaduct/methods/via/link"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// hostMax bounds the name in an address, in bytes.
const hostMax = wire.NameMax

// method is the VIA method of one endpoint. Like everything in this package it
// is called by one goroutine at a time (see bmi.Method).
type method struct {
	// What every message touches comes first.
	links       *link.Links
	inbox       *inbox.Inbox
	freeOps     *opState
	host        bmi.Host
	caps        nic.Caps
	eagerBytes  int
	splitBytes  int
	directBytes int // largest message that may leave without a descriptor; < 0: none
	polls       uint
	budget      int // bytes of large messages that this Poll may still move

	// Peers and operations with something to do in the next Poll.
	moving, movingNext     []*opState // a part of them was not given to the NIC yet
	settling, settlingNext []*opState // with memory to withdraw
	timers                 timers.Wheel[remote, *remote]

	name       string // scheme of the addresses
	log        *slog.Logger
	clock      func() time.Duration
	seed       uint64
	peerConfig peer.Config
	closing    bool
	letPass    func(time.Duration) // Options.Idle
	hasMemory  bool                // the NIC has memory of its own

	remotes         *peer.IDs[*remote]
	newestID        int
	byHost          map[string]*remote
	requests        uint64
	waitingRequests map[peer.Request]*link.Request
	actions         []remoteAction
	stepped         []peer.Action

	movers     movers
	freeLarges []*large
	assemblies []*assembly // free ones
	buffers    buffers.Pool
	rts        wire.RTS
	cts        wire.CTS

	errors bmi.ErrorCounts
	past   traffic // of peers forgotten
}

// Poll makes progress (bmi.Method).
func (m *method) Poll() bool {
	m.budget = RDMAPollBytes
	did := m.links.Poll()
	if len(m.moving)+len(m.settling) > 0 || m.links.Unfinished() || m.inbox.Holds() {
		did = m.unfinished() || did
	}
	if m.polls++; m.polls%HousekeepingPolls == 0 {
		did = m.tick() || did
	}
	return did
}

// unfinished continues what earlier Polls left unfinished.
func (m *method) unfinished() (did bool) {
	if len(m.moving) > 0 {
		did = m.moveAll() || did
	}
	if m.links.Unfinished() {
		did = m.links.Resume() || did
	}
	if len(m.settling) > 0 {
		did = m.settleAll() || did
	}
	if m.inbox.Holds() {
		did = m.inbox.OfferHeld(m.heldTaken) || did
	}
	return did
}

func (m *method) now() time.Duration { return m.clock() }

// Close ends the method (bmi.Method).
func (m *method) Close(ctx context.Context) error {
	m.closing = true
	m.drain(ctx)
	for r := range m.known() {
		r.refusing = true
		m.step(r, peer.Event{Kind: peer.EventDisconnect, Reason: peer.ReasonClosing})
		m.fail(r, peer.ReasonClosing, false)
	}
	m.drainLinks(ctx)
	err := m.links.Close() // afterwards no peer accesses registered memory
	for r := range m.known() {
		for s := r.ops.First(); s != nil; s = r.ops.First() {
			s.inflight = 0
			if s.err == nil {
				s.err = r.errorf(bmi.ErrClosed, "the endpoint was closed")
			}
			m.finish(s, 0, s.err)
		}
	}
	if err != nil {
		return fmt.Errorf("via: %w", err)
	}
	return nil
}

// drain waits for sends under way, at most CloseDrainMax.
func (m *method) drain(ctx context.Context) {
	m.pollUntil(ctx, func() bool {
		if m.links.UnderWay() > 0 {
			return false
		}
		for r := range m.known() {
			for s := r.ops.First(); s != nil; s = s.all.Next() {
				if s.op.Kind != bmi.KindRecv && r.link.Open() {
					return false
				}
			}
		}
		return true
	})
}

// drainLinks waits until the closed links have ended, so that the peers get the
// CANCEL packets.
func (m *method) drainLinks(ctx context.Context) {
	m.pollUntil(ctx, func() bool { return m.links.Live() == 0 && len(m.settling) == 0 })
}

// pollUntil polls until done, or ctx ends, or CloseDrainMax has passed.
func (m *method) pollUntil(ctx context.Context, done func() bool) {
	end := m.now() + CloseDrainMax
	for idle := 0; !done(); idle++ {
		if m.Poll() {
			idle = 0
		}
		if idle < closeSpinPolls {
			continue
		}
		left := end - m.now()
		if left <= 0 || m.letPass == nil && ctx.Err() != nil {
			return
		}
		m.idle(min(left, time.Millisecond))
	}
}

// idle lets time pass until something may have happened.
func (m *method) idle(left time.Duration) {
	switch {
	case m.letPass != nil:
		m.letPass(left)
	case m.links.CanSleep():
		if m.links.Arm() {
			m.links.Sleep(left)
		}
		m.links.Disarm()
	default:
		runtime.Gosched()
	}
}
