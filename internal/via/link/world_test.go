package link

import (
	"encoding/binary"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/peer"
)

const creditsPerLink = 16

// A world is two ends with one link between them, over simulated NICs.
type world struct {
	t    *testing.T
	sim  *sim.World
	nics *simnic.World
	ends [2]*end
}

// An end is the consumer of one endpoint with one link.
type end struct {
	*Links
	w    *world
	link Link

	up, soon bool
	failed   []error
	broke    []error
	breached []error

	next     uint32 // of the numbers to send
	last     uint32 // of those that must be sent
	arrived  []uint32
	bad      int                 // bodies that are not what their number says
	withhold func(n uint32) bool // of messages; nil: never
	deaf     bool                // all credits are withheld
	lent     map[*[]byte]bool    // memory that the NIC still has
	resumes  int
}

func newWorld(t *testing.T, seed uint64, opts simnic.Options, lossy sim.LinkOptions) *world {
	w := &world{t: t, sim: sim.New(sim.Options{Seed: seed, Link: lossy})}
	w.nics = simnic.New(w.sim, opts)
	for i, name := range [...]string{"a", "b"} {
		links, err := Open(w.nics, Config{Listen: name, Clock: w.nics.Clock, Log: slog.New(slog.DiscardHandler), Credits: creditsPerLink})
		require.NoError(t, err)
		e := &end{Links: links, w: w, lent: make(map[*[]byte]bool)}
		e.link.Init(e)
		links.Serve(e)
		w.ends[i] = e
	}
	return w
}

// connect opens the link, and does for both what a handshake would.
func (w *world) connect() {
	a, b := w.ends[0], w.ends[1]
	for attempt := peer.Link(1); !a.up || !b.up; attempt++ {
		require.Less(w.t, attempt, peer.Link(100), "%v %v", a.failed, b.failed)
		a.up, b.up = false, false
		for _, e := range w.ends {
			e.link.Close()
			w.until(func() bool { return e.Live() == 0 })
		}
		failures := len(a.failed)
		require.NoError(w.t, a.Connect(&a.link, attempt, "b", &wire.LinkReq{Session: 1, Attempt: 1, Version: wire.Version}, 0))
		w.until(func() bool { return a.up && b.up || len(a.failed) > failures })
	}
	for i, e := range w.ends {
		theirs := w.ends[1-i].link.Terms()
		e.link.Learn(&theirs)
		e.link.Opened(peer.ID(theirs.PeerID), int(theirs.Credits))
	}
}

// until lets time pass until done.
func (w *world) until(done func() bool) {
	w.t.Helper()
	for end := w.sim.Now() + time.Minute; !done(); {
		if !w.poll() {
			w.nics.Idle(time.Millisecond)
		}
		require.Less(w.t, w.sim.Now(), end, "it does not end")
	}
}

func (w *world) poll() (did bool) {
	for _, e := range w.ends {
		did = e.Poll() || did
		if e.Unfinished() {
			did = e.Links.Resume() || did
		}
	}
	return did
}

// body is what the packet with a number contains.
func body(n uint32, room int) []byte {
	b := make([]byte, max(4, int(n*2654435761>>7)%room))
	binary.LittleEndian.PutUint32(b, n)
	for i := 4; i < len(b); i++ {
		b[i] = byte(n) + byte(i)
	}
	return b
}

// send sends numbered packets up to e.last: every third is a control packet, and the others are
// messages, from memory of the user.
func (e *end) send() {
	for e.next < e.last {
		b := body(e.next+1, e.link.PacketBytes())
		if e.next%3 == 2 {
			p := e.Take()
			p.Body = append(p.Body, b...)
			e.link.SendControl(p, matchbits.TypeFin, 0, 0)
			e.next++
			continue
		}
		if !e.link.MayMessage() {
			e.link.Await()
			return
		}
		if len(b) <= e.NowBytes() && e.link.SendNow(matchbits.TypeExpected, 0, 0, b[:1], b[1:]) {
			e.next++
			continue
		}
		p := e.Take()
		lent := e.Gather(p, [][]byte{b[:2], nil, b[2:]}, 0, len(b))
		done, ok := e.link.Transmit(p, matchbits.TypeExpected, 0, 0)
		if !ok {
			return
		}
		if lent && !done {
			e.lent[&b] = true
			p.Lend(&b, len(b))
		}
		e.next++
	}
}

func (e *end) Arrived(l *Link, h wire.Header, b []byte, _ bool) (withhold bool, err error) {
	if h.Bits.Type() == matchbits.TypeCredit {
		c, err := wire.ParseCredit(h.Aux, b)
		if err != nil {
			return false, err
		}
		return false, l.Credited(c.Credits)
	}
	n := binary.LittleEndian.Uint32(b)
	if !slices.Equal(b, body(n, l.PacketBytes())) {
		e.bad++
	}
	e.arrived = append(e.arrived, n)
	return e.deaf || h.Bits.Type() == matchbits.TypeExpected && e.withhold != nil && e.withhold(n), nil
}

func (e *end) Finished(op any, bytes int, err error) {
	b := op.(*[]byte)
	if !e.lent[b] || bytes != len(*b) {
		e.bad++
	}
	delete(e.lent, b)
	if err != nil {
		e.link.Break(err)
	}
}

func (e *end) Resume(*Link) {
	e.resumes++
	e.send()
}

func (e *end) Requested(q *Request, err error) {
	if err == nil && !e.link.InUse() {
		err = e.Accept(&e.link, 1, q)
	}
	if err != nil {
		q.Refuse(peer.ReasonProtocol)
	}
}

func (e *end) Up(*Link)                  { e.up = true }
func (e *end) Failed(l *Link, err error) { e.failed = append(e.failed, err); l.Close() }
func (e *end) Broke(l *Link, err error)  { e.broke = append(e.broke, err); l.Close() }
func (e *end) PollSoon()                 { e.soon = true }

func (e *end) Breached(l *Link, err error) {
	e.breached = append(e.breached, err)
	l.Close()
}
