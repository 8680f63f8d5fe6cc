package simtest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via"
)

// A pairing are two endpoints over simulated datagrams, which send to each other while
// something happens to the way between them, or to one of them.
type pairing struct {
	t      *testing.T
	w      *udptest.World
	rng    *rand.Rand
	sides  [2]*partner
	opened uint64
}

// A partner is one of them.
type partner struct {
	name string
	host *simdgram.Host
	ep   *bmi.Endpoint
	ctx  *bmi.Context
	peer bmi.Addr
	ops  map[*pairingOp]bool // pending
}

// A pairingOp is an operation; err is valid once it is not pending.
type pairingOp struct {
	recv bool
	buf  []byte
	err  error
}

// pairingSizes are messages of every protocol: in a packet, in several, by rendezvous.
var pairingSizes = []int{8, 4 << 10, 20 << 10, 64 << 10, 1 << 20}

const (
	pairingDepth  = 2 // messages of each size and direction
	pairingGiveUp = 2 * time.Second
)

func newPairing(t *testing.T, seed uint64, link sim.LinkOptions, net simdgram.Options) *pairing {
	c := &pairing{t: t, rng: rand.New(rand.NewPCG(seed, 91))}
	p := udp.Provider{Key: udptest.Key, GiveUp: pairingGiveUp, KeepAlive: pairingGiveUp / 4}
	c.w = udptest.New(seed, link, net, p)
	for i := range c.sides {
		name := c.w.NewName()
		c.sides[i] = &partner{name: name, host: c.w.Net.Host(netip.MustParseAddrPort(name).Addr())}
		c.open(i)
	}
	for i := range c.sides {
		c.lookup(i)
	}
	return c
}

// open opens an endpoint, also again.
func (c *pairing) open(i int) {
	s := c.sides[i]
	c.opened++
	var err error
	s.ep, err = bmi.Open(c.t.Context(), bmi.Config{
		Manual: true, Clock: c.w.Clock, Listen: []string{simUDPScheme + "://" + s.name},
		Options: map[string]any{simUDPScheme: simUDPOptions{c.w, via.Options{Seed: c.opened, Idle: c.w.Idle}}},
	})
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = s.ep.Close() })
	s.ctx, err = s.ep.OpenContext()
	require.NoError(c.t, err)
	s.ops = map[*pairingOp]bool{}
}

func (c *pairing) lookup(i int) {
	var err error
	c.sides[i].peer, err = c.sides[i].ep.Lookup(simUDPScheme + "://" + c.sides[1-i].name)
	require.NoError(c.t, err)
}

// post posts one operation; one that is refused at once has failed.
func (c *pairing) post(i int, recv bool, tag int, size int) *pairingOp {
	s := c.sides[i]
	o := &pairingOp{recv: recv, buf: make([]byte, size)}
	var p bmi.Posted
	if recv {
		p, o.err = s.ctx.PostRecv(s.peer, bmi.Tag(tag), o.buf, o)
	} else {
		fillMessage(o.buf, tag)
		p, o.err = s.ctx.PostSend(s.peer, bmi.Tag(tag), o.buf, o)
	}
	if o.err == nil && !p.Done {
		s.ops[o] = true
	}
	return o
}

func fillMessage(b []byte, tag int) {
	for k := range b {
		b[k] = byte(k*7 + k>>8 + tag)
	}
}

// A parcel is a message whose send and receive were both posted.
type parcel struct {
	tag        int
	send, recv *pairingOp
}

// exchange posts messages of all sizes in both directions.
func (c *pairing) exchange() (all []parcel) {
	for i := range c.sides {
		for k, size := range pairingSizes {
			for n := range pairingDepth {
				p := parcel{tag: k*pairingDepth + n}
				p.recv = c.post(1-i, true, p.tag, size)
				p.send = c.post(i, false, p.tag, size)
				all = append(all, p)
			}
		}
	}
	return all
}

// turn lets both look, and then time pass.
func (c *pairing) turn() {
	var out [8]bmi.Completion
	for _, s := range c.sides {
		n, err := s.ctx.TestContext(out[:], 0)
		require.NoError(c.t, err)
		for _, done := range out[:n] {
			o, ok := done.User.(*pairingOp)
			require.True(c.t, ok)
			require.True(c.t, s.ops[o], "it completes once")
			delete(s.ops, o)
			o.err = done.Err
		}
	}
	c.w.Step()
}

// finish goes on until nothing is pending.
func (c *pairing) finish(limit time.Duration) {
	c.t.Helper()
	for end := c.w.Clock() + limit; len(c.sides[0].ops)+len(c.sides[1].ops) > 0; c.turn() {
		require.Less(c.t, c.w.Clock(), end, "%d and %d operations hang", len(c.sides[0].ops), len(c.sides[1].ops))
	}
}

// arrived requires that all messages arrived completely.
func (c *pairing) arrived(all []parcel) {
	c.t.Helper()
	for _, p := range all {
		require.NoError(c.t, p.send.err)
		require.NoError(c.t, p.recv.err)
		require.True(c.t, bytes.Equal(p.send.buf, p.recv.buf), "message %d of %d bytes", p.tag, len(p.send.buf))
	}
}

// judge checks messages, some of which may have failed: a successful receive got the bytes that
// were sent, and every error says that the connection ended.
func (c *pairing) judge(all []parcel) (failed int) {
	c.t.Helper()
	for _, p := range all {
		if p.recv.err == nil {
			want := make([]byte, len(p.recv.buf))
			fillMessage(want, p.tag)
			require.True(c.t, bytes.Equal(want, p.recv.buf), "message %d of %d bytes", p.tag, len(want))
		}
		for _, err := range []error{p.send.err, p.recv.err} {
			if err != nil {
				failed++
				require.True(c.t, errors.Is(err, bmi.ErrPeerFailed) || errors.Is(err, bmi.ErrUnreachable), "%v", err)
			}
		}
	}
	return failed
}

// begin connects the two, and leaves them at a moment within an exchange.
func (c *pairing) begin() []parcel {
	c.t.Helper()
	first := c.exchange()
	c.finish(time.Minute)
	c.arrived(first)
	all := c.exchange()
	for range c.rng.IntN(300) {
		c.turn()
	}
	return all
}

// again exchanges messages after a disaster. The first attempt may find that there was
// one; a later one works.
func (c *pairing) again() {
	c.t.Helper()
	for range 3 {
		all := c.exchange()
		c.finish(time.Minute)
		if c.judge(all) == 0 {
			return
		}
	}
	require.Fail(c.t, "they do not come together again")
}

// disasterSeedsMax is how many seeds a disaster has at most.
func disasterSeedsMax() int {
	if testing.Short() {
		return 1
	}
	return 30
}

// disasterLink is anything from perfect to bad.
func disasterLink(seed uint64) sim.LinkOptions {
	return udptest.RandomLink(rand.New(rand.NewPCG(seed, 92)))
}

// TestSimUDPPartition: a long partition, in one direction or both, fails the operations under way
// on both sides within a known time. After it, everything works again.
func TestSimUDPPartition(t *testing.T) {
	sim.RunAtMost(t, disasterSeedsMax(), func(t *testing.T, seed uint64) {
		c := newPairing(t, seed, disasterLink(seed), simdgram.Options{})
		all := c.begin()
		from := c.rng.IntN(2)
		c.w.Net.CutOneWay(c.sides[from].host, c.sides[1-from].host)
		if c.rng.IntN(3) == 0 {
			c.w.Net.CutOneWay(c.sides[1-from].host, c.sides[from].host)
		}
		start := c.w.Clock()
		c.finish(4*pairingGiveUp + time.Second)
		if c.judge(all) == 0 {
			assert.Less(t, c.w.Clock()-start, pairingGiveUp, "all of it had arrived before")
		}
		c.w.Net.HealAll()
		c.again()
	})
}

// TestSimUDPShortPartition: a short partition fails no operation.
func TestSimUDPShortPartition(t *testing.T) {
	sim.RunAtMost(t, disasterSeedsMax(), func(t *testing.T, seed uint64) {
		c := newPairing(t, seed, disasterLink(seed), simdgram.Options{})
		all := c.begin()
		from := c.rng.IntN(2)
		c.w.Net.CutOneWay(c.sides[from].host, c.sides[1-from].host)
		c.w.Sim.After(c.w.Sim.Between(time.Millisecond, pairingGiveUp/4), c.w.Net.HealAll)
		c.finish(time.Minute)
		c.arrived(all)
	})
}

// TestSimUDPNarrowPath: the path gets narrower in the middle, with a word or without,
// and everything arrives.
func TestSimUDPNarrowPath(t *testing.T) {
	sim.RunAtMost(t, disasterSeedsMax(), func(t *testing.T, seed uint64) {
		c := newPairing(t, seed, disasterLink(seed), simdgram.Options{MTUBytes: []int{8972, 65507}[seed%2]})
		all := c.begin()
		a, b := c.sides[0].host, c.sides[1].host
		c.w.Net.SetMTU(a, b, 1200+c.rng.IntN(300), c.rng.IntN(2) == 0)
		if c.rng.IntN(2) == 0 {
			c.w.Net.SetMTU(b, a, 1200+c.rng.IntN(300), c.rng.IntN(2) == 0)
		}
		c.finish(time.Minute)
		c.arrived(all)
	})
}

// TestSimUDPRestart: one side's process ends in the middle of messages of all sizes, and
// comes back. What was under way fails at the other side, once; what follows works.
func TestSimUDPRestart(t *testing.T) {
	sim.RunAtMost(t, disasterSeedsMax(), func(t *testing.T, seed uint64) {
		c := newPairing(t, seed, disasterLink(seed), simdgram.Options{})
		all := c.begin()
		i := c.rng.IntN(2)
		old := c.sides[i].ops
		c.w.Crash(c.sides[i].name)
		for o := range old {
			o.err = bmi.ErrPeerFailed // no process is left that could learn of it
		}
		c.open(i)
		c.lookup(i)
		c.finish(pairingGiveUp + time.Second)
		c.judge(all)
		c.again()
	})
}
