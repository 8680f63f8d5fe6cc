package vipltest

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

const (
	memBytes = 256 << 10
	// patience bounds every wait on a real network. In simulated time a test
	// fails as soon as nothing is left to happen.
	patience = time.Minute
)

// A side is one NIC with what most tests need.
type side struct {
	name   string
	n      *vipl.NIC
	tag    vipl.ProtectionTag
	cq     *vipl.CQ
	vi     *vipl.VI
	mem    *vipl.Memory
	got    []vipl.Completion // taken by poll, oldest first
	events []vipl.ConnEvent  // taken by poll, oldest first
}

// A pair is two sides driven by one goroutine.
type pair struct {
	*testing.T
	s    Setup
	rng  *rand.Rand
	a, b *side

	attempts int // by connect
}

// options change what newPair makes.
type options struct {
	reliability nic.Reliability
	waiting     bool // the NICs are for waiting calls: no Events, no CQ
	entries     int  // of the CQ; 0: 256
	depth       int  // of the queues; 0: 16
	maxTransfer int
}

// newPair opens two NICs, each with an unconnected VI.
func newPair(t *testing.T, s Setup, o options) *pair {
	p := &pair{T: t, s: s, rng: rand.New(rand.NewPCG(s.Seed, 2))}
	if o.entries == 0 {
		o.entries = 256
	}
	if o.depth == 0 {
		o.depth = 16
	}
	p.a, p.b = p.open(0, o), p.open(1, o)
	t.Cleanup(func() {
		require.NoError(t, p.a.n.Close())
		require.NoError(t, p.b.n.Close())
	})
	return p
}

func (p *pair) config(name string, o options) vipl.NICConfig {
	return vipl.NICConfig{
		Listen: name,
		Clock:  p.s.Clock,
		Events: !o.waiting,
		Log:    slog.New(slog.DiscardHandler), // these tests lose connections on purpose
		Idle: func(timeout time.Duration) {
			// The other end has an owner too; in a test it is us.
			p.a.poll()
			p.b.poll()
			if p.s.Step() || p.s.Advance == nil {
				return
			}
			// Nothing happens before a NIC has to be polled, be it now.
			for _, sd := range []*side{p.a, p.b} {
				if at, ok := sd.n.NextDeadline(); ok {
					timeout = min(timeout, at-p.s.Clock())
				}
			}
			if timeout > 0 {
				p.s.Advance(timeout)
			}
		},
	}
}

func (p *pair) open(i int, o options) *side {
	sd := &side{name: p.s.Name(i)}
	var err error
	sd.n, err = vipl.OpenNIC(p.s.Provider, p.config(sd.name, o))
	require.NoError(p, err)
	if o.reliability > sd.n.Caps().Reliability {
		p.Skipf("the NIC has reliability level %d at most", sd.n.Caps().Reliability)
	}
	sd.tag, err = sd.n.CreatePtag()
	require.NoError(p, err)
	if !o.waiting {
		sd.cq, err = sd.n.CreateCQ(o.entries)
		require.NoError(p, err)
	}
	sd.vi = p.newVI(sd, o)
	mem, err := sd.n.Alloc(memBytes)
	if err != nil {
		mem = make([]byte, memBytes)
	}
	sd.mem, err = sd.n.RegisterMem(mem, vipl.MemAttributes{Tag: sd.tag, RemoteWrite: true, RemoteRead: true})
	require.NoError(p, err)
	return sd
}

func (p *pair) newVI(sd *side, o options) *vipl.VI {
	caps := sd.n.Caps()
	vi, err := sd.n.CreateVI(vipl.VIAttributes{
		Reliability: o.reliability,
		Tag:         sd.tag,
		MaxTransfer: o.maxTransfer,
		RemoteWrite: caps.RDMAWrite,
		RemoteRead:  caps.RDMARead,
		RecvDepth:   min(o.depth, caps.RecvDepthMax),
		SendDepth:   min(o.depth, caps.SendDepthMax),
	}, sd.cq, sd.cq)
	require.NoError(p, err)
	return vi
}

// poll takes what happened on one side.
func (sd *side) poll() {
	if sd == nil || sd.n == nil {
		return
	}
	if sd.cq == nil {
		sd.n.Poll()
		return
	}
	var out [8]vipl.Completion
	sd.got = append(sd.got, out[:sd.cq.Poll(out[:])]...)
	var ev [4]vipl.ConnEvent
	sd.events = append(sd.events, ev[:sd.n.PollEvents(ev[:])]...)
}

// until polls both sides until done reports true.
func (p *pair) until(what string, done func() bool) {
	p.Helper()
	give := time.Now().Add(patience)
	for stuck := 0; ; {
		p.a.poll()
		p.b.poll()
		if done() {
			return
		}
		if p.s.Step() {
			stuck = 0
		} else if stuck++; stuck > 100 {
			require.FailNow(p, "nothing is left to happen", "waiting for %s", what)
		}
		if time.Now().After(give) {
			require.FailNow(p, "waited too long", "for %s", what)
		}
	}
}

// settle lets happen what still can within a while.
func (p *pair) settle() {
	for rounds, quiet := 0, 0; rounds < 2000 && quiet < 50; rounds++ {
		p.a.poll()
		p.b.poll()
		if p.s.Step() {
			quiet = 0
		} else {
			quiet++ // events that a wrapper holds back come out by polling alone
		}
	}
}

// again repeats a post that is turned away for the moment.
func (p *pair) again(post func() error) {
	p.Helper()
	p.until("room in a queue", func() bool {
		err := post()
		if errors.Is(err, nic.ErrAgain) {
			return false
		}
		require.NoError(p, err)
		return true
	})
}

// send posts a descriptor and takes its completion, if one follows, off got later.
func (p *pair) send(sd *side, d *vipl.Descriptor) (done bool) {
	p.Helper()
	p.again(func() (err error) {
		done, err = sd.vi.PostSend(d)
		return err
	})
	return done
}

func (p *pair) recv(sd *side, d *vipl.Descriptor) {
	p.Helper()
	p.again(func() error { return sd.vi.PostRecv(d) })
}

// ended waits until a descriptor came back, takes its completion, and returns its
// status.
func (p *pair) ended(sd *side, d *vipl.Descriptor) nic.Status {
	p.Helper()
	p.until("a descriptor to come back", func() bool {
		for i, c := range sd.got {
			if c.Desc == d {
				require.Same(p, sd.vi, c.VI)
				sd.got = append(sd.got[:i], sd.got[i+1:]...)
				return true
			}
		}
		return false
	})
	return d.Status
}

// event waits for a connection event of a kind and takes it.
func (p *pair) event(sd *side, kind vipl.EventKind) (ev vipl.ConnEvent) {
	p.Helper()
	p.until("a connection event", func() bool {
		for i, e := range sd.events {
			if e.Kind == kind {
				ev = e
				sd.events = append(sd.events[:i], sd.events[i+1:]...)
				return true
			}
		}
		return false
	})
	return ev
}

func (sd *side) addr() vipl.Address { return vipl.Address{Host: sd.n.LocalAddr()} }

// connect connects a to b. Where packets get lost, all of an attempt may: then it takes another one.
func (p *pair) connect() {
	p.Helper()
	failed := func() bool {
		return p.s.Apart && len(p.a.events) > 0 && p.a.events[0].Kind == vipl.EventConnectFailed &&
			errors.Is(p.a.events[0].Err, vipl.ErrNotReachable)
	}
	var req *vipl.ConnRequest
	for range attemptsMax {
		p.attempts++
		name := fmt.Sprint("attempt ", p.attempts)
		require.NoError(p, p.a.vi.ConnectStart(p.b.addr(), vipl.ConnectOptions{Timeout: patience, Private: []byte(name)}))
		p.until("a request", func() bool { req = p.request(name); return failed() || req != nil })
		if req != nil {
			break
		}
		p.a.events = p.a.events[1:]
	}
	require.NotNil(p, req, "of %d attempts nothing arrived", attemptsMax)
	require.NoError(p, req.Accept(p.b.vi))
	p.event(p.a, vipl.EventConnected)
	p.event(p.b, vipl.EventConnected)
}

// request takes the request with this private data from b's events; nil if it has not come yet. Requests of earlier attempts, which a has
// given up, may still come before it: those are refused.
func (p *pair) request(name string) (req *vipl.ConnRequest) {
	p.b.events = slices.DeleteFunc(p.b.events, func(ev vipl.ConnEvent) bool {
		switch {
		case ev.Kind != vipl.EventRequest:
			return false
		case string(ev.Request.Private) == name:
			req = ev.Request
		default:
			_ = ev.Request.Reject(nil) // an error means that the requester is gone
		}
		return true
	})
	return req
}

// attemptsMax is how often in a row nothing of an attempt may arrive.
const attemptsMax = 10

// connected is a pair that is.
func connected(t *testing.T, s Setup, o options) *pair {
	p := newPair(t, s, o)
	p.connect()
	return p
}

// pattern fills memory with bytes that depend on the seed and their place.
func pattern(mem []byte, seed int) {
	for i := range mem {
		mem[i] = byte(i*7 + i>>8 + seed*31)
	}
}

func patterned(size, seed int) []byte {
	mem := make([]byte, size)
	pattern(mem, seed)
	return mem
}

// payload is the content of a completed receive, wherever it lies.
func payload(d *vipl.Descriptor) (data []byte) {
	if d.Data != nil {
		return append(data, d.Data...)
	}
	for _, s := range d.Segments {
		data = append(data, s.Data...)
	}
	return data[:min(d.Length, len(data))]
}
