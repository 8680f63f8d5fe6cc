package simtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	simstack "github.com/viaduct-hpc/viaduct/internal/tcp/stack/sim"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// Random traffic over random networks, with and without faults. The checks are in
// check_test.go.

// newStorm makes a storm of 2 to 6 endpoints.
func newStorm(t *testing.T, seed uint64, change func(*rand.Rand, *simstack.Options, *tcp.Options)) *storm {
	rng := rand.New(rand.NewPCG(seed, 21))
	opts, link := simstack.RandomOptions(rng), sim.RandomLink(rng)
	pick := sim.Draw{Rand: rng}.Pick
	s := &storm{
		T: t, rng: rng, messages: make(map[uint64]*simMessage),
		met: make(map[simOrder][]simMet),
		tcp: tcp.Options{
			HangupTimeout: hangupTimeout,
			// A byte at a time takes long.
			MessageTimeout: time.Hour,
			EarlyBytes:     pick(0, 100, 2000, 100_000), EarlyBytesPerPeer: pick(0, 100, 1000, 30_000),
		},
		sizes: []int{simSizeMin, 100, 500, 1000},
	}
	change(rng, &opts, &s.tcp)
	s.w = newSimWorld(seed, link, opts)
	if min(opts.SegmentBytesMax, opts.SendBytesMax, opts.RecvBytesMax) >= 100 {
		s.sizes = append(s.sizes, 4096-24, 5000, 16384, 16385, 40_000, 150_000)
	} else if rng.IntN(3) == 0 && min(opts.SendBytesMax, opts.RecvBytesMax) > 1 {
		s.sizes = append(s.sizes, 16384, 16385)
	}
	s.eager = pick(4, 12, 20)
	for range 2 + rng.IntN(5) {
		s.names = append(s.names, fmt.Sprint("n", len(s.names)))
	}
	for _, name := range s.names {
		s.nodes = append(s.nodes, s.open(name))
	}
	return s
}

// meet makes every endpoint send to every other, so that all know each other: the
// accepting side of a connection can post no receive before that.
func (s *storm) meet() {
	s.Helper()
	for _, n := range s.nodes {
		n.greet()
	}
	s.within("all know each other", quietMax, func() bool {
		for _, n := range s.nodes {
			if len(n.peers) < 2*(len(s.nodes)-1) {
				return false
			}
		}
		return true
	})
}

// greet sends a message to every other endpoint.
func (n *simNode) greet() {
	for _, p := range n.peers {
		if p.node == nil {
			n.send(p, true)
		}
	}
}

// quietMax is far more than what the slowest network needs.
const quietMax = time.Hour

// any draws an endpoint that lives.
func (s *storm) any() *simNode {
	for {
		if n := s.nodes[s.rng.IntN(len(s.nodes))]; !n.dead {
			return n
		}
	}
}

// opsMax bounds what is pending at one endpoint.
const opsMax = 60

// rage does random things.
func (s *storm) rage(turns int) {
	for range turns {
		n := s.any()
		switch k := s.rng.IntN(100); {
		case k < 20 && len(n.ops) < opsMax:
			n.send(n.pick(), false)
		case k < 20+s.eager && len(n.ops) < opsMax:
			n.recv(n.pick(), bmi.Tag(s.rng.IntN(simTags)))
		case k < 50 && len(n.ops) < opsMax:
			n.send(n.pick(), true)
		case k < 58:
			n.take()
		case k < 75:
			for range 1 + s.rng.IntN(3) {
				n.poll()
			}
			n.bounds()
		case k < 96:
			for range 1 + s.rng.IntN(30) {
				s.w.step()
			}
		case s.quiet:
		case k < 98 && len(n.ops) > 0:
			n.cancel(n.ops[s.rng.IntN(len(n.ops))])
		default:
			s.fault()
		}
	}
}

// turn polls every endpoint and advances time.
func (s *storm) turn() {
	for _, n := range s.nodes {
		if !n.dead {
			n.poll()
			n.take()
		}
	}
	for range 1 + s.rng.IntN(15) {
		s.w.step()
	}
}

// within takes turns until done, for at most the given virtual time.
func (s *storm) within(what string, most time.Duration, done func() bool) {
	s.Helper()
	end := s.w.sim.Now() + most
	for !done() {
		if s.w.sim.Now() > end {
			for _, n := range s.nodes {
				if !n.dead {
					s.Logf("%s: %v\n%+v", n.name, n.ops, n.ep.Stats())
				}
			}
			require.Failf(s, "not live", "%s: not after %v", what, most)
		}
		s.turn()
	}
}

// fault makes something go wrong.
func (s *storm) fault() {
	i := s.rng.IntN(len(s.nodes))
	j := (i + 1 + s.rng.IntN(len(s.nodes)-1)) % len(s.nodes)
	a, b := s.w.hostOf(s.w.address(s.names[i])).Addr(), s.w.hostOf(s.w.address(s.names[j])).Addr()
	switch n := s.nodes[i]; s.rng.IntN(7) {
	case 0, 1:
		s.w.net.Reset(a, b)
	case 2:
		s.w.net.Cut(a, b)
		s.w.sim.After(s.w.sim.Between(0, 3*time.Second), func() { s.w.net.Heal(a, b) })
	case 3, 4:
		if !n.dead {
			s.crash(n)
		}
		s.reopen(i)
	case 5:
		if !n.dead {
			s.close(n)
		}
		s.reopen(i)
	default:
		if !n.dead {
			n.drop(n.pick())
		}
	}
}

func (s *storm) crash(n *simNode) {
	n.dead = true
	how := simstack.Ending(s.rng.IntN(2))
	s.w.hostOf(s.w.address(n.name)).Crash(how)
}

// closeMax is the longest time for closing an endpoint: twice tcp.CloseDrainMax,
// once for sending and once for delivery.
const closeMax = 2*tcp.CloseDrainMax + 100*time.Millisecond

func (s *storm) close(n *simNode) {
	n.dead = true
	before := s.w.sim.Now()
	require.NoError(s, n.ep.Close())
	require.LessOrEqual(s, s.w.sim.Now()-before, closeMax, "Close must come to an end")
}

// drop drops an address. Operations pending with it complete at once.
func (n *simNode) drop(p *simPeer) {
	require.NoError(n.s, n.ep.DropAddr(p.addr))
	p.gone = true
	for range opsMax {
		n.poll()
	}
	for _, o := range n.ops {
		require.NotSame(n.s, p, o.p, "%v is still pending after DropAddr", o)
	}
	if p.node == nil {
		n.lookup(p.name)
	}
}

// cancel cancels an operation, which completes at once.
func (n *simNode) cancel(o *simOp) {
	err := n.ctx.Cancel(o.id)
	require.True(n.s, err == nil || errors.Is(err, bmi.ErrUnknownOp), "cancel %v: %v", o, err)
	for range opsMax {
		n.poll()
	}
	require.True(n.s, o.over, "%v is still pending after Cancel", o)
}

// TestQuiet: without faults everything arrives.
func TestQuiet(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		s := newStorm(t, seed, func(*rand.Rand, *simstack.Options, *tcp.Options) {})
		s.quiet = true
		s.meet()
		for range 3 {
			s.rage(300)
			s.balance()
			s.within("everything arrives", quietMax, func() bool { return s.missing == 0 })
			s.within("everything is sent", quietMax, s.allSent)
			require.NoError(s, s.buffers.Check())
		}
		for _, n := range s.nodes {
			for len(n.ops) > 0 {
				n.cancel(n.ops[0])
			}
			st := n.ep.Stats().Methods[0]
			require.Zero(s, st.PostedRecvs+st.EarlyMessages, "%+v", st)
		}
	})
}

func (s *storm) allSent() bool {
	for _, n := range s.nodes {
		for _, o := range n.ops {
			if !o.recv {
				return false
			}
		}
	}
	return true
}

// balance posts receives for messages sent without one.
func (s *storm) balance() {
	for _, n := range s.nodes {
		for _, p := range n.peers {
			back := s.opposite(n, p)
			for tag := range p.received {
				for p.received[tag] < back.sent[tag] {
					n.recv(p, bmi.Tag(tag))
				}
			}
		}
	}
}

// opposite is the address at the other end of a connection: for an address that
// was looked up, the one that the other side got for it, and the reverse.
func (s *storm) opposite(n *simNode, p *simPeer) *simPeer {
	for _, m := range s.nodes {
		if m.name != p.name {
			continue
		}
		for _, q := range m.peers {
			if p.node == nil && q.node == n || p.node == m && q.node == nil && q.name == n.name {
				return q
			}
		}
	}
	panic("nobody is at the other end")
}

// recoverMax is the longest time for an operation with a peer that died: until the
// stack notices, until a new connection is given up, and, if a connection is not
// read, until its hang-up timeout. That timeout starts again when another such
// connection makes room for a message.
const recoverMax = time.Second + tcp.ConnectTimeout + 8*hangupTimeout + time.Second

const hangupTimeout = time.Second

// storms runs with faults all the time; in the end all endpoints but one die.
func (s *storm) storms() {
	for _, n := range s.nodes {
		n.greet()
	}
	for range 3 {
		s.rage(300)
		for _, a := range s.names {
			for _, b := range s.names {
				s.w.net.Heal(s.w.hostOf(s.w.address(a)).Addr(), s.w.hostOf(s.w.address(b)).Addr())
			}
		}
		s.lastOne(s.any())
		require.NoError(s, s.buffers.Check())
	}
}

// lastOne crashes all other endpoints. The operations of the last one fail, in
// bounded time, and nothing is left of the connections.
func (s *storm) lastOne(last *simNode) {
	for _, n := range s.nodes {
		if n != last && !n.dead {
			s.crash(n)
		}
	}
	end := s.w.sim.Now() + recoverMax
	next := s.w.sim.Now()
	s.within("operations with the dead fail", recoverMax, func() bool {
		if s.w.sim.Now() >= next && s.w.sim.Now() < end-tcp.ConnectTimeout-time.Second {
			last.greet() // otherwise no node would notice that the others are dead
			next += time.Second
		}
		return len(last.ops) == 0
	})
	s.within("connections with the dead end", recoverMax, func() bool {
		st := last.ep.Stats().Methods[0]
		return st.Connected == 0 && st.PostedRecvs == 0
	})
	last.takeKept()
	for i, n := range s.nodes {
		if n.dead {
			s.reopen(i)
		}
	}
}

// takeKept takes the complete messages of peers that are dead now. A receive
// without a match waits for a new connection, not for an incomplete message.
func (n *simNode) takeKept() {
	for _, p := range n.peers {
		for tag := bmi.Tag(0); p.node == nil && !p.gone && tag < simTags; {
			waiting := n.ep.Stats().Methods[0].PostedRecvs
			n.recv(p, tag)
			for range opsMax {
				n.poll()
			}
			if len(n.ops) == 0 {
				continue // got one
			}
			require.Equal(n.s, waiting+1, n.ep.Stats().Methods[0].PostedRecvs, "%v waits for the rest of a message", n.ops[0])
			n.cancel(n.ops[0])
			tag++
		}
	}
}

// reopen begins another life of an endpoint.
func (s *storm) reopen(i int) {
	s.nodes[i] = s.open(s.nodes[i].name)
	s.nodes[i].greet()
}

// TestFaults: with faults of all kinds, every operation ends.
func TestFaults(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		newStorm(t, seed, func(rng *rand.Rand, o *simstack.Options, mo *tcp.Options) {
			if rng.IntN(2) == 0 {
				mo.MessageTimeout = time.Second
			}
			if rng.IntN(2) == 0 {
				o.Reset = 1 / (20 + 5000*rng.Float64())
			}
			o.Refuse, o.DialExhausted = 0.2*rng.Float64(), 0.1*rng.Float64()
			o.KeepAlive = time.Duration(1 + rng.Int64N(int64(time.Second)))
		}).storms()
	})
}

// TestHostile: the network changes bytes, so streams may contain anything.
func TestHostile(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		s := newStorm(t, seed, func(rng *rand.Rand, o *simstack.Options, _ *tcp.Options) {
			o.Corrupt = []float64{0.001, 0.01, 0.1}[rng.IntN(3)]
			o.KeepAlive = time.Duration(1 + rng.Int64N(int64(time.Second)))
		})
		s.altered = true
		s.storms()
	})
}

// TestCloseUnderFire: Close ends although there is work in every Poll, as with a
// peer that never stops sending.
func TestCloseUnderFire(t *testing.T) {
	s := newStorm(t, 1, func(_ *rand.Rand, o *simstack.Options, _ *tcp.Options) { o.Spurious = 1 })
	n := s.nodes[0]
	s.crash(s.nodes[1])
	n.greet() // to a node that does not answer
	s.close(n)
}

// TestRoom: as many messages of a peer without a receive are kept as
// Options.EarlyBytesPerPeer allows; once there is room for another, it is read.
func TestRoom(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		const size, kept = 500, 4
		s := newStorm(t, seed, func(_ *rand.Rand, _ *simstack.Options, o *tcp.Options) {
			o.EarlyBytesPerPeer, o.EarlyBytes = kept*512, 0
		})
		s.quiet = true
		s.meet()
		s.sizes = []int{size}
		from, to := s.nodes[0], s.nodes[1]
		p := from.peers[0]
		var tags []bmi.Tag
		for range 3 * kept {
			tags = append(tags, from.send(p, false).tag)
		}
		early := func() int { return to.ep.Stats().Methods[0].EarlyMessages }
		for i, tag := range tags {
			want := min(kept+1, len(tags)-i) // the kept messages, and one whose header alone was read
			s.within("as many came as there is room for", quietMax, func() bool { return early() == want })
			for end := s.w.sim.Now() + 5*time.Second; s.w.sim.Now() < end; s.turn() {
				require.LessOrEqual(s, early(), want, "kept without room for it")
			}
			to.recv(s.opposite(from, p), tag)
		}
		s.within("everything arrives", quietMax, func() bool { return s.missing == 0 && s.allSent() })
	})
}
