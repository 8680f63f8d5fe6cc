//go:build linux

package hosts

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/netns"
)

// allOf has processes exchange messages of all kinds: one at a time, many at once,
// and large ones.
func allOf(t *testing.T, all []*process, way func(from, to int) string) {
	t.Helper()
	converse(t, all, way, each(200, 1, 8)).well()
	converse(t, all, way, each(1000, 64, 8, 300, 1024, 1025, 4<<10)).well()
	converse(t, all, way, each(40, 8, mixed...)).well()
	converse(t, all, way, each(4, 2, 4<<20)).well()
}

func TestTwoHosts(t *testing.T) {
	for name, mode := range map[string]string{"secure": secure, "insecure": insecure} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := fleet(t, netns.New(t, netns.Options{}).Hosts, mode)
			allOf(t, all, firstCalls(all))
			st := all[0].stats()
			assert.EqualValues(t, 1, st.Connects)
			assert.Positive(t, st.Link.SegmentsSent)
			assert.Positive(t, st.Link.RoundTrips)
		})
	}
}

func TestIPv6Only(t *testing.T) {
	t.Parallel()
	hosts := netns.New(t, netns.Options{}).Hosts
	var all []*process
	for _, h := range hosts {
		if !h.Addr6.IsValid() {
			need.Unless(t, need.IPv6, errors.New("hosts have none here"))
		}
		_, err := h.Run("ip", "-4", "addr", "flush", "dev", h.Device)
		require.NoError(t, err)
		all = append(all, start(t, h, secure).open(listenAt(h.Addr6)))
	}
	allOf(t, all, firstCalls(all))
}

// TestFourHosts has everyone talk to everyone at once, and everyone connect.
func TestFourHosts(t *testing.T) {
	t.Parallel()
	all := fleet(t, netns.New(t, netns.Options{Hosts: 4, Join: netns.Switch}).Hosts, secure)
	way := allCall(all)
	converse(t, all, way, each(200, 16, 8, 300, 4<<10, 20<<10)).well()
	converse(t, all, way, each(16, 8, mixed...)).well()
}

// TestOnlyConnects has two hosts connect to one, which answers.
func TestOnlyConnects(t *testing.T) {
	t.Parallel()
	hosts := netns.New(t, netns.Options{Hosts: 2, Join: netns.Router}).Hosts
	all := []*process{start(t, hosts[0], secure).open(""), start(t, hosts[1], secure).open(listenAt(netip.IPv4Unspecified()))}
	allOf(t, all, func(from, _ int) string {
		if from == 0 {
			return "via+udp://" + listenAt(hosts[1].Addr)
		}
		return ""
	})
}
