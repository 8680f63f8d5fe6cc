package udp_test

import (
	"encoding/binary"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A crowd is some machines whose connections move messages of every kind; the rules
// for those are in sim_oracle_test.go.
type crowd struct {
	t        crowdT
	w        *udptest.World
	rng      *rand.Rand
	machines []*machine
	halves   []*half // all there ever were; the place of each is its id
	noise    []byte  // messages are pieces of it
	spoil    spoiler // nil: reports are not changed
}

// A crowdT is a *testing.T, or a replacement that records whether a test would fail.
type crowdT interface {
	require.TestingT
	Helper()
	Logf(format string, args ...any)
}

// A spoiler changes what a device reports, or returns true to have it reported twice.
type spoiler func(h *half, e *nic.Event) (again bool)

// A machine is a host with one device.
type machine struct {
	name string
	host *simdgram.Host
	dev  *udp.Device
}

const (
	crowdRecvs    = 16
	crowdSends    = 24
	crowdSlots    = 4
	crowdSlotSize = 32 << 10
	crowdGiveUp   = 5 * time.Second // of udptest.Random
)

func newCrowd(t crowdT, seed uint64) *crowd {
	c := &crowd{t: t, w: udptest.Random(seed), rng: rand.New(rand.NewPCG(seed, 81)), noise: make([]byte, 2*crowdSlotSize)}
	for i := range c.noise {
		c.noise[i] = byte(c.rng.Uint32())
	}
	for range 2 + c.rng.IntN(2) {
		m := &machine{name: c.w.NewName()}
		m.host = c.w.Net.Host(netip.MustParseAddrPort(m.name).Addr())
		c.start(m)
		c.machines = append(c.machines, m)
	}
	return c
}

// start opens the device of a machine, also after a crash.
func (c *crowd) start(m *machine) {
	d, err := c.w.Open(nic.Config{Listen: m.name, Clock: c.w.Clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(c.t, err)
	var ok bool
	m.dev, ok = d.(*udp.Device)
	require.True(c.t, ok)
}

// crash ends the process of a machine, and starts a new one.
func (c *crowd) crash(m *machine) {
	c.w.Crash(m.name)
	require.NoError(c.t, m.dev.Close())
	for _, h := range c.halves {
		if h.m == m && !h.over {
			h.disturbed()
			h.finish()
		}
	}
	c.start(m)
}

// open makes a half of a connection, with all of its receives posted.
func (c *crowd) open(m *machine, level nic.Reliability) *half {
	h := &half{c: c, m: m, id: len(c.halves), level: level, region: make([]byte, crowdSlots*crowdSlotSize)}
	c.halves = append(c.halves, h)
	var err error
	h.port, err = m.dev.OpenPort(nic.PortAttrs{
		Reliability: level, Tag: sideTag, RecvDepth: crowdRecvs, SendDepth: crowdSends, RemoteWrite: true, RemoteRead: true,
	}, h)
	require.NoError(c.t, err)
	h.handle, err = m.dev.Register(h.region, nic.AccessRemoteRead|nic.AccessRemoteWrite, sideTag)
	require.NoError(c.t, err)
	for range crowdRecvs {
		h.postRecv()
	}
	return h
}

// dial requests a connection from one machine to another.
func (c *crowd) dial(from, to *machine) {
	h := c.open(from, nic.ReliableDelivery+nic.Reliability(c.rng.IntN(2)))
	h.to, h.dialed = to, true
	require.NoError(c.t, h.port.Connect(to.name, binary.LittleEndian.AppendUint64(nil, uint64(h.id)), 0))
}

// asked decides about a connect request.
func (c *crowd) asked(m *machine, e *nic.ConnEvent) {
	require.Len(c.t, e.Private, 8)
	id := binary.LittleEndian.Uint64(e.Private)
	require.Less(c.t, id, uint64(len(c.halves)), "nobody asked that")
	from := c.halves[id]
	require.True(c.t, m == from.to)
	require.Equal(c.t, from.m.name, e.Remote)
	again := from.peer != nil && !from.peer.over
	if again {
		// A damaged RETRY made the dialling side ask again: only one of the two
		// requests leads to a connection.
		require.NotZero(c.t, c.w.Sim.Link(m.host.Addr().String(), from.m.host.Addr().String()).Options().Corrupt, "the same request twice")
		from.disturbed()
	}
	if again || c.rng.IntN(10) == 0 {
		require.NoError(c.t, m.dev.Reject(e.Request, []byte("no")))
		return
	}
	h := c.open(m, from.level)
	h.to, h.peer, from.peer = from.m, from, h
	h.cut, h.lost = from.cut, from.lost
	require.NoError(c.t, m.dev.Accept(e.Request, h.port))
}

// turn lets time pass, and polls all machines.
func (c *crowd) turn() {
	c.w.Idle(-1)
	for _, m := range c.machines {
		c.poll(m)
	}
}

func (c *crowd) poll(m *machine) {
	var events [8]nic.Event
	for n := len(events); n == len(events); {
		n = m.dev.Poll(events[:])
		for _, e := range events[:n] {
			if e.Kind == nic.EventConnectRequest {
				c.asked(m, e.Conn)
				continue
			}
			h, ok := e.Cookie.(*half)
			require.True(c.t, ok)
			if c.spoil != nil && c.spoil(h, &e) {
				h.event(&e)
			}
			h.event(&e)
		}
	}
}

// until continues until done returns true, within a limit.
func (c *crowd) until(limit time.Duration, what string, done func() bool) {
	c.t.Helper()
	for end := c.w.Clock() + limit; !done(); c.turn() {
		if c.w.Clock() > end {
			for _, h := range c.halves {
				if !h.over {
					c.t.Logf("%v", h)
				}
			}
			require.Fail(c.t, "too late", "%s: not within %v", what, limit)
		}
	}
}

// live returns the halves that are not over.
func (c *crowd) live() []*half {
	return slices.DeleteFunc(slices.Clone(c.halves), func(h *half) bool { return h.over })
}

// split separates machines from each other, for a while.
func (c *crowd) split(a, b *machine) {
	c.w.Net.CutOneWay(a.host, b.host)
	if c.rng.IntN(2) == 0 {
		c.w.Net.CutOneWay(b.host, a.host)
	}
	lasts := c.w.Sim.Between(time.Millisecond, 2*crowdGiveUp)
	for _, h := range c.live() {
		if h.m == a && h.to == b || h.m == b && h.to == a {
			h.disturbed()
		}
	}
	c.w.Sim.After(lasts, func() { c.w.Net.Heal(a.host, b.host) })
}
