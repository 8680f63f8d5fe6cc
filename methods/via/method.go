package via

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/buffers"
	"github.com/viaduct-hpc/viaduct/methods/inbox"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// hostMax bounds the name in an address, in bytes.
const hostMax = wire.NameMax

// idQuarantine is how many ids rest before one is used again.
const idQuarantine = 1024

// method is the VIA method of one endpoint. Like everything in this package it
// is called by one goroutine at a time (see bmi.Method).
type method struct {
	// What every message touches comes first.
	nic         *vipl.NIC
	cq          *vipl.CQ
	inbox       *inbox.Inbox
	freeOps     *opState
	freePackets *packet
	host        bmi.Host
	caps        nic.Caps
	eagerBytes  int
	splitBytes  int
	directBytes int // largest message that may leave without a descriptor; < 0: none
	polls       uint
	budget      int // bytes of large messages that this Poll may still move
	done        [CompletionsPerPoll]vipl.Completion
	events      [4]vipl.ConnEvent
	small       [nic.InlineMax]byte // a message taken from a completion entry, until it is handled

	// Peers and operations with something to do in the next Poll.
	broken                 []*remote  // their link gave an error
	stalled, stalledNext   []*remote  // waiting for room in the NIC, or just given credits
	moving, movingNext     []*opState // a part of them was not given to the NIC yet
	settling, settlingNext []*opState // with memory to withdraw
	timed, due             []*remote  // with a deadline
	nextTick               time.Duration

	name        string // scheme of the addresses
	log         *slog.Logger
	clock       func() time.Duration
	seed        uint64
	reliability nic.Reliability
	recvDepth   int
	peerConfig  peer.Config
	closing     bool
	underWay    int                 // packets that the NIC has not finished
	letPass     func(time.Duration) // Options.Idle
	hasMemory   bool                // the NIC has memory of its own

	remotes         *peer.IDs[*remote]
	links           *peer.IDs[*link]
	vis             int // VIs that exist, also those on their way out
	newestID        int
	byHost          map[string]*remote
	requests        uint64
	waitingRequests map[peer.Request]*vipl.ConnRequest
	actions         []remoteAction
	stepped         []peer.Action

	movers     movers
	freeLarges []*large
	buffers    buffers.Pool
	scratch    []byte // an unexpected message while a handler looks at it
	rts        wire.RTS
	cts        wire.CTS
	sharedTag  vipl.ProtectionTag // where send buffers must be registered
	oldTags    []vipl.ProtectionTag

	errors bmi.ErrorCounts
	past   traffic // of peers forgotten
}

// Poll makes progress (bmi.Method).
func (m *method) Poll() bool {
	m.budget = RDMAPollBytes
	did, idle := m.takeSmall()
	if !idle {
		did = m.pollNIC() || did
	}
	if len(m.broken) > 0 {
		m.endBroken()
		did = true
	}
	if len(m.moving)+len(m.stalled)+len(m.settling)+len(m.oldTags) > 0 || m.inbox.Holds() {
		did = m.unfinished() || did
	}
	if m.polls++; m.polls%HousekeepingPolls == 0 {
		did = m.tick() || did
	}
	return did
}

// takeSmall handles the small messages that the NIC has ready. idle is true if it has nothing else, either.
func (m *method) takeSmall() (did, idle bool) {
	for range m.done {
		vi, n, idle := m.cq.Take(&m.small)
		if vi == nil {
			return did, idle
		}
		did = true
		if l := vi.User.(*link); l.r.link == l {
			if withhold, ok := m.packetArrived(l, m.small[:n]); ok {
				m.packetTaken(l, withhold)
			}
		}
	}
	return did, false
}

// pollNIC handles completions and what happened to connections.
func (m *method) pollNIC() (did bool) {
	n := m.cq.Poll(m.done[:])
	for i := range m.done[:n] {
		c := &m.done[i]
		l := c.VI.User.(*link)
		if c.Queue == vipl.QueueRecv {
			m.recvDone(l, c.Desc)
		} else {
			m.sendDone(c.Desc)
		}
	}
	if k := m.nic.PollEvents(m.events[:]); k > 0 {
		m.connEvents(k)
		return true
	}
	return n > 0
}

// recvDone handles a receive that the NIC gave back.
func (m *method) recvDone(l *link, d *nic.Descriptor) {
	r := l.r
	if r.link != l || d.Status == nic.StatusFlushed {
		return // the link is being closed
	}
	if d.Status != nic.StatusSuccess {
		m.protocolError(r, fmt.Errorf("receive ended with status %d", d.Status))
		return
	}
	data := d.Data
	if data == nil && d.Length > 0 {
		data = d.Segments[0].Data[:d.Length]
	}
	withhold, ok := m.packetArrived(l, data)
	if !ok {
		return
	}
	if err := m.repost(l, d); err != nil {
		m.retryLater(r, err)
		return
	}
	if l.unposted == d {
		m.stall(r) // its credit is owed once it is posted
		m.goOn(r)
		return
	}
	m.packetTaken(l, withhold)
}

// sendDone handles a send or RDMA descriptor that the NIC gave back.
func (m *method) sendDone(d *nic.Descriptor) {
	p := d.Cookie.(*packet)
	if d.Op == nic.OpSend {
		m.sent(p)
	} else {
		m.moved(p)
	}
}

// connEvents handles events of connections. The first n are in m.events.
func (m *method) connEvents(n int) {
	for ; n > 0; n = m.nic.PollEvents(m.events[:]) {
		for i := range m.events[:n] {
			ev := m.events[i]
			m.events[i] = vipl.ConnEvent{}
			m.linkEvent(&ev)
		}
	}
}

// unfinished continues what earlier Polls left unfinished.
func (m *method) unfinished() (did bool) {
	if len(m.moving) > 0 {
		did = m.moveAll() || did
	}
	if len(m.stalled) > 0 {
		did = m.pumpStalled() || did
	}
	if len(m.settling) > 0 {
		did = m.settleAll() || did
	}
	if m.inbox.Holds() {
		did = m.inbox.OfferHeld(m.heldTaken) || did
	}
	if len(m.oldTags) > 0 {
		m.dropTags()
	}
	return did
}

// stall notes that a peer has something to send that could not go now.
func (m *method) stall(r *remote) {
	if !r.stalled {
		r.stalled = true
		m.stalled = append(m.stalled, r)
	}
}

func (m *method) pumpStalled() (did bool) {
	again := m.stalled
	m.stalled = m.stalledNext[:0]
	for _, r := range again {
		r.stalled = false
		before := r.sendSeq
		if r.link != nil && r.link.unposted != nil {
			m.repostAll(r)
		}
		m.pump(r)
		if len(r.movers) > 0 && r.mayMove() {
			m.resume(r)
		}
		if r.open && r.credits.MustReturn() {
			m.returnCredits(r)
		}
		did = did || r.sendSeq != before
	}
	clear(again)
	m.stalledNext = again[:0]
	return did
}

// dropTags destroys the protection tags whose memory is withdrawn by now.
func (m *method) dropTags() {
	keep := m.oldTags[:0]
	for _, tag := range m.oldTags {
		if m.nic.DestroyPtag(tag) != nil {
			keep = append(keep, tag)
		}
	}
	m.oldTags = keep
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
	err := m.nic.Close() // afterwards no peer accesses registered memory
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
		if m.underWay > 0 {
			return false
		}
		for r := range m.known() {
			for s := r.ops.First(); s != nil; s = r.ops.Next(s) {
				if s.op.Kind != bmi.KindRecv && r.open {
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
	m.pollUntil(ctx, func() bool { return m.vis == 0 && len(m.settling) == 0 })
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
	case m.nic.CanSleep():
		if m.nic.Arm() {
			m.nic.Sleep(left)
		}
		m.nic.Disarm()
	default:
		runtime.Gosched()
	}
}
