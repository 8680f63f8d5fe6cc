//go:build linux

package hosts

import (
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/internal/netns"
	"github.com/viaduct-hpc/viaduct/internal/relay"
)

// udpPorts are the UDP ports of a host, as its kernel lists them.
func udpPorts(t *testing.T, h *netns.Host) (ports []uint16) {
	t.Helper()
	out, err := h.Run("cat", "/proc/net/udp")
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
		_, hex, ok := strings.Cut(strings.Fields(line)[1], ":")
		require.True(t, ok, line)
		n, err := strconv.ParseUint(hex, 16, 16)
		require.NoError(t, err)
		ports = append(ports, uint16(n))
	}
	return ports
}

// between puts a relay between two processes, on a third host. The first process reaches the second
// only through the relay.
func between(t *testing.T, mode string, there, back relay.Way) (all []*process, r *relay.Relay, way func(from, to int) string) {
	t.Helper()
	hosts := netns.New(t, netns.Options{Hosts: 3, Join: netns.Switch}).Hosts
	middle := hosts[1]
	all = []*process{start(t, hosts[0], mode).open(""), start(t, hosts[2], mode).open(listenAt(hosts[2].Addr))}
	opts := relay.Options{Seed: 3, There: there, Back: back, Open: middle.ListenUDP}
	for _, port := range udpPorts(t, hosts[2]) {
		opts.Ports = append(opts.Ports, relay.Port{
			Listen: netip.AddrPortFrom(middle.Addr, port),
			Server: netip.AddrPortFrom(hosts[2].Addr, port),
			From:   middle.Addr,
		})
	}
	require.Len(t, opts.Ports, 2, "one for each lane")
	r, err := relay.Start(opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		// Not in good order: the last word of whoever leaves first may get lost.
		for _, p := range all {
			p.kill()
		}
		require.NoError(t, r.Close())
	})
	return all, r, func(from, _ int) string {
		if from == 0 {
			return "via+udp://" + listenAt(middle.Addr)
		}
		return ""
	}
}

// TestBadNetwork sends messages of all kinds through each flaw alone and all at once.
func TestBadNetwork(t *testing.T) {
	flaws := map[string]relay.Way{
		"good":        {},
		"loss":        {Loss: 0.05},
		"duplicates":  {Duplicate: 0.1},
		"reordering":  {Reorder: 0.1, ReorderMax: 2 * time.Millisecond},
		"delay":       {Delay: 5 * time.Millisecond, Jitter: 2 * time.Millisecond},
		"damage":      {Corrupt: 0.05},
		"narrow":      {BytesPerSecond: 20 << 20, QueueBytes: 64 << 10},
		"all":         {Loss: 0.02, Duplicate: 0.02, Corrupt: 0.02, Reorder: 0.02, Delay: time.Millisecond, Jitter: time.Millisecond},
		"heavy loss":  {Loss: 0.2},
		"no security": {Loss: 0.05, Corrupt: 0.05},
	}
	if testing.Short() { // package relay shows each flaw alone
		maps.DeleteFunc(flaws, func(name string, _ relay.Way) bool { return name != "all" && name != "no security" })
	}
	for name, w := range flaws {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mode := secure
			if name == "no security" {
				mode = insecure
			}
			all, r, way := between(t, mode, w, w)
			converse(t, all, way, each(50, 1, 8)).well()
			converse(t, all, way, each(300, 32, 8, 300, 1024, 1025, 4<<10)).well()
			converse(t, all, way, each(16, 8, mixed...)).well()

			there, back := r.Counters()
			var link netstats.Link
			for _, p := range all {
				st := p.stats()
				link.Retransmitted += st.Link.Retransmitted
				link.Duplicates += st.Link.Duplicates
				assert.EqualValues(t, 1, st.Connects, "the connection survived")
			}
			was := fmt.Sprintf("%+v there, %+v back, %+v", there, back, link)
			if w.Loss+w.Corrupt > 0 {
				assert.Positive(t, there.Lost+there.Corrupted, was)
				assert.Positive(t, link.Retransmitted, was)
			}
			if w.Duplicate > 0 {
				// A packet that arrives again is discarded before its segments are parsed.
				assert.Positive(t, there.Duplicated, was)
			}
		})
	}
}

// TestOneWayThroughTranslation: the first process is behind a translator of addresses. The second
// one sends much before the first has sent anything on the data lane.
func TestOneWayThroughTranslation(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]relay.Way{"good": {}, "loss": {Loss: 0.2}} {
		t.Run(name, func(t *testing.T) {
			all, _, way := between(t, secure, w, w)
			much, little := []int{20 << 10, 256 << 10, 4 << 10}, []int{8}
			converse(t, all, way, Talk{Count: 20, Window: 4, Send: little, Recv: much}, Talk{Count: 20, Window: 4, Send: much, Recv: little}).well()
		})
	}
}
