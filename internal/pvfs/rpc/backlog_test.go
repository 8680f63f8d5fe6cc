package rpc

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// lineUp returns a backlog, and functions to add and take requests. Each request is named after its client, with a number.
func lineUp(t *testing.T) (b *backlog, put func(address string, tag, most, room int) bool, take func(places) string, done func(address string)) {
	ep := newWorld(t, "tcp").open(false)
	lookup := func(address string) bmi.Addr {
		a, err := ep.Lookup(address)
		require.NoError(t, err)
		return a
	}
	all := newBacklog(named)
	put = func(address string, tag, most, room int) bool {
		return all.put(arrival{Unexpected: bmi.Unexpected{From: lookup(address), Tag: bmi.Tag(tag)}}, most, room)
	}
	take = func(p places) string {
		m, ok := all.take(p)
		if !ok {
			return ""
		}
		return fmt.Sprintf("%s/%d", m.From, m.Tag)
	}
	return &all, put, take, func(address string) { all.done(lookup(address)) }
}

// named returns no source for any peer, so the backlog takes the host from the text of the address.
func named(bmi.Addr) (none netip.AddrPort) { return none }

// TestBacklogTakesHostsInTurn: requests are taken from the hosts in turn, and from the clients of a host in turn.
func TestBacklogTakesHostsInTurn(t *testing.T) {
	b, put, take, done := lineUp(t)
	for tag := range 2 {
		for _, a := range []string{"tcp://127.0.0.1:1", "tcp://127.0.0.1:2", "tcp://127.0.0.2:1"} {
			require.True(t, put(a, tag, 2, 100))
		}
	}
	require.False(t, put("tcp://127.0.0.1:1", 2, 2, 100), "it has two waiting")
	var got []string
	for range 6 {
		got = append(got, take(places{most: 100}))
	}
	assert.Equal(t, []string{
		"tcp://127.0.0.1:1/0", "tcp://127.0.0.2:1/0", "tcp://127.0.0.1:2/0", "tcp://127.0.0.2:1/1", "tcp://127.0.0.1:1/1", "tcp://127.0.0.1:2/1",
	}, got)
	assert.Empty(t, take(places{most: 100}))
	assert.Zero(t, b.n)
	for _, a := range []string{"tcp://127.0.0.1:1", "tcp://127.0.0.1:2", "tcp://127.0.0.2:1"} {
		done(a)
		done(a)
	}
	assert.Empty(t, b.clients)
	assert.Empty(t, b.hosts)
}

// TestBacklogHasRoomForOthers: one host, with any number of connections, gets half of the room that others leave.
func TestBacklogHasRoomForOthers(t *testing.T) {
	b, put, _, _ := lineUp(t)
	fill := func(host string) (n int) {
		for n = 0; put(fmt.Sprintf("tcp://%s:%d", host, n+1), n, 1000, 64); n++ {
		}
		return n
	}
	var got []int
	for i := range 8 {
		got = append(got, fill(fmt.Sprintf("127.0.0.%d", i+1)))
	}
	assert.Equal(t, []int{32, 16, 8, 4, 2, 1, 1, 1}, got, "and who has nothing there always gets in")
	assert.Equal(t, 65, b.n)
}

// TestPlaces: one host has half of the places that others leave; a host without any gets one.
func TestPlaces(t *testing.T) {
	fill := func(p places) (all []int) {
		for range 10 {
			has := 0
			for p.may(has) && has < 100 {
				has++
				p.running++
			}
			all = append(all, has)
		}
		return all
	}
	assert.Equal(t, []int{32, 16, 8, 4, 2, 1, 1, 1, 1, 1}, fill(places{most: 64}))
	assert.Equal(t, []int{1, 1, 1, 1, 0, 0, 0, 0, 0, 0}, fill(places{most: 2}), "no more than twice as many run")
}

func TestHostOf(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	ep := newWorld(t, "tcp").open(false)
	for address, want := range map[string]string{
		"tcp://10.1.2.3:4":            "10.1.2.3/32",
		"tcp://[2001:db8:1:2:3::4]:5": "2001:db8:1:2::/64",
		"tcp://[::ffff:10.1.2.3]:4":   "10.1.2.3/32",
		"tcp://[fe80::1%25lo]:5":      "fe80::/64",
		"tcp://localhost:4":           "localhost",
		"via+shm://~uid1000.~12.1":    "~uid1000", // all of one user's processes are one host
		"via+shm://~uid1000.name":     "~uid1000",
		"via+shm://~12.1":             "via+shm://~12.1",
	} {
		a, err := ep.Lookup(address)
		if assert.NoError(t, err, address) {
			b := newBacklog(named)
			assert.Equal(t, want, b.hostOf(a), address)
		}
	}
}
