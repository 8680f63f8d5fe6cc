package peers

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// A world is two endpoints that have no operations, over simulated NICs.
type world struct {
	t    *testing.T
	sim  *sim.World
	nics *simnic.World
	ends [2]*end
}

// An end is one endpoint, the user of its peers.
type end struct {
	*Peers
	links *link.Links
	waits bool // what Waits answers
	count bmi.ErrorCounts
}

// A record is what an end has of a peer.
type record struct {
	Peer
	opened, recovered, forgotten int
	ended                        []error
}

func newWorld(t *testing.T, seed uint64, change func(i int, cfg *Config)) *world {
	s := sim.New(sim.Options{Seed: seed, Link: sim.RandomLink(sim.New(sim.Options{Seed: seed}).Rand())})
	w := &world{t: t, sim: s, nics: simnic.New(s, simnic.Options{})}
	for i, name := range [...]string{"a", "b"} {
		links, err := link.Open(w.nics, link.Config{Listen: name, Clock: w.nics.Clock, Log: slog.New(slog.DiscardHandler), Credits: 16})
		require.NoError(t, err)
		e := &end{links: links, waits: true}
		cfg := Config{
			Scheme: "sim", Wake: func() {}, Clock: w.nics.Clock, Log: slog.New(slog.DiscardHandler), Errors: &e.count,
			Seed: seed + uint64(i), Machine: peer.DefaultConfig(),
		}
		cfg.Machine.Local = peer.Hello{Version: 1, Session: seed*2 + uint64(i) + 1, Name: name, Credits: 16, EagerBytes: 1000}
		cfg.Machine.ResendAfter = 0
		if change != nil {
			change(i, &cfg)
		}
		e.Peers = New(links, e, cfg)
		links.Serve(e)
		w.ends[i] = e
	}
	return w
}

// until lets time pass until done.
func (w *world) until(done func() bool) {
	w.t.Helper()
	for end := w.sim.Now() + time.Minute; !done(); {
		did := false
		for _, e := range w.ends {
			did = e.links.Poll() || did
			did = e.links.Resume() || did
			did = e.Tick() || did
		}
		if !did {
			w.nics.Idle(time.Millisecond)
		}
		require.Less(w.t, w.sim.Now(), end, "it does not end")
	}
}

// find is what an end has of the other.
func (w *world) find(i int) *record {
	w.t.Helper()
	p, err := w.ends[i].Find([...]string{"sim://b", "sim://a"}[i])
	require.NoError(w.t, err)
	return p.Link.Owner().(*record)
}

// want lets an end ask for a connection, as a queued send does.
func (e *end) want(r *record) { e.Step(&r.Peer, peer.Event{Kind: peer.EventQueued}) }

// close closes both ends.
func (w *world) close() {
	w.t.Helper()
	for _, e := range w.ends {
		e.BeginClose()
		e.EndAll()
	}
	w.until(func() bool { return w.ends[0].links.Live()+w.ends[1].links.Live() == 0 })
	for _, e := range w.ends {
		require.NoError(w.t, e.links.Close())
	}
}

func (e *end) NewPeer(host string, passive bool) (*Peer, error) {
	r := &record{}
	return &r.Peer, e.Add(&r.Peer, r, host, passive)
}

func (e *end) Opened(p *Peer)                { p.Link.Owner().(*record).opened++ }
func (e *end) Recovered(p *Peer)             { p.Link.Owner().(*record).recovered++ }
func (e *end) Forgotten(p *Peer)             { p.Link.Owner().(*record).forgotten++ }
func (e *end) Waits(*Peer) (ops, early bool) { return e.waits, false }

func (e *end) Ended(p *Peer, _ peer.Reason, err error) {
	r := p.Link.Owner().(*record)
	r.ended = append(r.ended, err)
}

func (e *end) Arrived(l *link.Link, h wire.Header, body []byte, _ bool) (withhold bool, err error) {
	return false, e.Peers.Arrived(of(l.Owner()), h, body)
}

func (e *end) Finished(any, int, error) {}
func (e *end) Resume(*link.Link)        {}
