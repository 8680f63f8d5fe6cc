//go:build linux

package relay

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/netns"
)

// TestBetweenHosts has the client, the relay and the server on hosts of their own.
func TestBetweenHosts(t *testing.T) {
	hosts := netns.New(t, netns.Options{Hosts: 3, Join: netns.Switch}).Hosts
	open := func(h *netns.Host) *end {
		c, err := h.ListenUDP(netip.AddrPortFrom(h.Addr, 0))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return &end{t, c, make([]byte, datagramMax)}
	}
	client, server := open(hosts[0]), open(hosts[2])
	middle := netip.AddrPortFrom(hosts[1].Addr, server.at().Port())
	r, err := Start(Options{
		Ports: []Port{{Listen: middle, Server: server.at(), From: middle.Addr()}},
		Open:  hosts[1].ListenUDP,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	require.Equal(t, middle, r.Addr(0), "the port is the server's")
	for range 100 {
		client.send(middle, []byte("ping"))
		p, from, ok := server.next(within)
		require.True(t, ok)
		assert.Equal(t, middle.Addr(), from.Addr())
		server.send(from, p)
		_, from, ok = client.next(within)
		require.True(t, ok)
		assert.Equal(t, middle, from)
	}
}
