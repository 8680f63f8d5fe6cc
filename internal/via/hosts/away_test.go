//go:build linux

package hosts

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/netns"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

const (
	// endsWithin is the time within which operations with a silent peer end, in the soak tier: the
	// time after which the peer counts as gone, and some more for a busy machine.
	endsWithin = 8 * time.Second
	// longCut is longer than a peer may be silent.
	longCut = 6 * time.Second
)

// untilItFails talks for ever.
func untilItFails() Talk { return each(Forever, 8, mixed...) }

// failed is the end of a talk that something got in the way of.
func (c *conversation) failed(i int) *Told {
	c.t.Helper()
	told := c.end(i)
	assert.Positive(c.t, told.Failed, "node %d", i)
	assert.Positive(c.t, told.Received, "node %d", i)
	return told
}

// TestKilledAndRestarted kills the receiver in the middle of traffic, and starts
// another one at the same address at once.
func TestKilledAndRestarted(t *testing.T) {
	t.Parallel()
	for _, talk := range []struct {
		name  string
		sizes []int
	}{{"eager", []int{8, 300, 4 << 10}}, {"rendezvous", []int{256 << 10, 1 << 20}}, {"mixed", mixed}} {
		t.Run(talk.name, func(t *testing.T) {
			if testing.Short() && talk.name != "mixed" {
				t.Skip("soak: a mixed talk has these messages, too")
			}
			hosts := netns.New(t, netns.Options{}).Hosts
			all := fleet(t, hosts, secure)
			rounds := uint64(3)
			if testing.Short() {
				rounds = 1
			}
			for round := range rounds {
				c := converse(t, all, firstCalls(all), each(Forever, 8, talk.sizes...))
				all[0].busy(20 + 7*round)
				all[1].kill()
				killed := time.Now()
				all[1] = start(t, hosts[1], secure).open(listenAt(hosts[1].Addr))
				told := c.failed(0)
				// The new one says at once that it knows nothing of the connection.
				wallclock.Under(t, time.Since(killed)-told.Slow, 3*time.Second, "to notice that there is another one")
				converse(t, all, firstCalls(all), each(20, 4, mixed...)).well()
				assert.Equal(t, round+2, all[0].stats().Connects)
			}
		})
	}
}

// TestKilled kills the receiver. It has no successor for a while.
func TestKilled(t *testing.T) {
	need.Soak(t, "it waits seconds for a real time-out; TestSimUDPPartition of internal/via/simtest has it in virtual time")
	t.Parallel()
	hosts := netns.New(t, netns.Options{}).Hosts
	all := fleet(t, hosts, secure)
	c := converse(t, all, firstCalls(all), untilItFails())
	all[0].busy(50)
	all[1].kill()
	killed := time.Now()
	c.failed(0)
	wallclock.Under(t, time.Since(killed), endsWithin, "the end of all operations")
	all[1] = start(t, hosts[1], secure).open(listenAt(hosts[1].Addr))
	converse(t, all, firstCalls(all), each(20, 4, mixed...)).well()
}

// cut pulls the cable of the first host for a while, in the middle of traffic.
func cut(t *testing.T, all []*process, long time.Duration) {
	t.Helper()
	all[0].busy(8)
	require.NoError(t, all[0].host.SetUp(false))
	<-time.After(long)
	require.NoError(t, all[0].host.SetUp(true))
}

func TestCablePulledShortly(t *testing.T) {
	t.Parallel()
	all := fleet(t, netns.New(t, netns.Options{}).Hosts, secure)
	c := converse(t, all, firstCalls(all), open(8, mixed...))
	cuts := 3
	if testing.Short() {
		cuts = 1
	}
	for range cuts {
		cut(t, all, 300*time.Millisecond)
	}
	all[0].busy(8)
	c.finish()
	assert.EqualValues(t, 1, all[0].stats().Connects, "the connection survived")
}

func TestCablePulledForLong(t *testing.T) {
	need.Soak(t, "it waits seconds for a real time-out; TestSimUDPPartition of internal/via/simtest has it in virtual time")
	t.Parallel()
	all := fleet(t, netns.New(t, netns.Options{}).Hosts, secure)
	c := converse(t, all, firstCalls(all), untilItFails())
	cut(t, all, longCut)
	plugged := time.Now()
	c.failed(0)
	c.failed(1)
	wallclock.Under(t, time.Since(plugged), endsWithin-longCut, "the end of what should have ended before")
	converse(t, all, firstCalls(all), each(20, 4, mixed...)).well()
	assert.EqualValues(t, 2, all[0].stats().Connects)
}

// narrowBytes is the MTU of a way that got narrower.
const narrowBytes = 1300

// narrower is a talk of large messages during which the way gets narrower, and which
// must go on.
func narrower(t *testing.T, all []*process, checked bool, narrow func() error) {
	t.Helper()
	c := converse(t, all, firstCalls(all), open(4, 256<<10))
	all[0].busy(8)
	require.NoError(t, narrow())
	all[0].busy(8)
	c.finish()
	before := all[0].stats()
	converse(t, all, firstCalls(all), each(5, 4, 256<<10)).well()
	after := all[0].stats()
	assert.EqualValues(t, 1, after.Connects, "the connection survived")
	if checked {
		sent, bytes := after.Packets.Sent-before.Packets.Sent, after.Packets.BytesSent-before.Packets.BytesSent
		assert.Less(t, bytes/sent, uint64(narrowBytes))
	}
}

func TestNarrowerWay(t *testing.T) {
	for name, join := range map[string]netns.Join{"a router, which says so": netns.Router, "a switch, which does not": netns.Switch} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := netns.New(t, netns.Options{Join: join}).Hosts
			// A switch lets large packets pass that travel in groups (GSO).
			narrower(t, fleet(t, hosts, secure), join == netns.Router, func() error { return hosts[1].SetPortMTU(narrowBytes) })
		})
	}
	t.Run("the host's own device", func(t *testing.T) {
		t.Parallel()
		hosts := netns.New(t, netns.Options{Join: netns.Router}).Hosts
		narrower(t, fleet(t, hosts, secure), true, func() error { return hosts[0].SetMTU(narrowBytes) })
	})
	t.Run("IPv6", func(t *testing.T) {
		t.Parallel()
		hosts := netns.New(t, netns.Options{Join: netns.Router}).Hosts
		if !hosts[0].Addr6.IsValid() {
			need.Unless(t, need.IPv6, errors.New("hosts have none here"))
		}
		var all []*process
		for _, h := range hosts {
			all = append(all, start(t, h, secure).open(listenAt(h.Addr6)))
		}
		narrower(t, all, true, func() error { return hosts[1].SetPortMTU(narrowBytes) })
	})
}

// TestSecondAddress: a host listens at all of its addresses, and is connected to by
// one that its routes would not choose for an answer.
func TestSecondAddress(t *testing.T) {
	four, six := netip.MustParseAddr("10.76.0.102"), netip.MustParseAddr("fd76:6400::102")
	for name, c := range map[string]struct {
		listen, to netip.Addr
		mode       string
	}{
		"IPv4": {netip.IPv4Unspecified(), four, secure}, "IPv4, insecure": {netip.IPv4Unspecified(), four, insecure},
		"IPv6": {netip.IPv6Unspecified(), six, secure}, "IPv6, insecure": {netip.IPv6Unspecified(), six, insecure},
		"both": {netip.IPv6Unspecified(), four, secure}, "both, insecure": {netip.IPv6Unspecified(), four, insecure},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := netns.New(t, netns.Options{Join: netns.Switch}).Hosts
			if !hosts[0].Addr6.IsValid() && (c.listen.Is6() || c.to.Is6()) {
				need.Unless(t, need.IPv6, errors.New("hosts have none here"))
			}
			for _, a := range []string{"-4 addr add 10.76.0.102/24", "-6 addr add fd76:6400::102/64 nodad preferred_lft 0"} {
				if a[1] == '4' || hosts[0].Addr6.IsValid() {
					addr(t, hosts[1], a)
				}
			}
			all := []*process{start(t, hosts[0], c.mode).open(""), start(t, hosts[1], c.mode).open(listenAt(c.listen))}
			converse(t, all, func(from, _ int) string {
				if from == 0 {
					return "via+udp://" + listenAt(c.to)
				}
				return ""
			}, each(40, 8, mixed...)).well()
		})
	}
}

// TestRoaming gives a host another address in the middle of traffic: one that
// connected, and one that was connected to.
func TestRoaming(t *testing.T) {
	for name, mover := range map[string]int{"who connected": 0, "who accepted": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := netns.New(t, netns.Options{Join: netns.Switch}).Hosts
			var all []*process
			for _, h := range hosts {
				all = append(all, start(t, h, secure).open(listenAt(netip.IPv4Unspecified())))
			}
			c := converse(t, all, func(from, to int) string {
				if from == 0 {
					return "via+udp://" + listenAt(hosts[to].Addr)
				}
				return ""
			}, open(8, mixed...))
			all[0].busy(8)
			h := hosts[mover]
			addr(t, h, "addr del "+h.Addr.String()+"/24")
			addr(t, h, "addr add 10.76.0.77/24")
			all[0].busy(8)
			c.finish()
			assert.EqualValues(t, 1, all[0].stats().Connects, "the connection survived")
		})
	}
}
