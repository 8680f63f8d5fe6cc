package udp_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// linkLocal finds an address of this machine that needs its interface named.
func linkLocal(t *testing.T) (netip.Addr, net.Interface) {
	all, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is6() && p.Addr().IsLinkLocalUnicast() {
				return p.Addr(), i
			}
		}
	}
	need.Unless(t, need.IPv6, errors.New("no interface has a link-local address"))
	return netip.Addr{}, net.Interface{}
}

// The interface of a link-local address may be named, or given by its number.
func TestLinkLocalAddresses(t *testing.T) {
	ip, i := linkLocal(t)
	for _, zone := range []string{i.Name, fmt.Sprint(i.Index)} {
		t.Run(zone, func(t *testing.T) {
			listener, err := udp.Provider{Insecure: true}.Open(nic.Config{Listen: fmt.Sprintf("[%s%%%s]:0", ip, zone)})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, listener.Close()) })
			at := netip.MustParseAddrPort(listener.LocalAddr())
			d, _ := dial(t, udp.Provider{}, nic.Config{}, fmt.Sprintf("[%s%%%s]:%d", ip, zone, at.Port()))
			var out [1]nic.Event
			require.Eventually(t, func() bool {
				require.Zero(t, d.Poll(out[:]))
				return listener.Poll(out[:]) == 1
			}, wallclock.Patience, time.Millisecond)
			assert.Equal(t, nic.EventConnectRequest, out[0].Kind)
		})
	}
}

func TestLinkLocalAddressesNeedAnInterface(t *testing.T) {
	d, err := udp.Provider{Insecure: true}.Open(nic.Config{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	_, err = d.(nic.Namer).CanonicalAddr("[fe80::1]:7000")
	require.ErrorIs(t, err, nic.ErrBadAddress)
	assert.ErrorContains(t, err, "[fe80::1%INTERFACE]")
}

// The variable must be 1, 0 or empty: another value is refused.
func TestInsecureIsOneOrNothing(t *testing.T) {
	t.Setenv(udp.KeyFileEnv, "")
	t.Setenv(udp.KeyEnv, "")
	for value, says := range map[string]string{
		"yes": `udp: VIADUCT_UDP_INSECURE is "yes": set it to 1`,
		"0":   "udp: connections need a key",
		"":    "udp: connections need a key",
	} {
		t.Setenv(udp.InsecureEnv, value)
		_, err := udp.Provider{}.Open(nic.Config{})
		assert.ErrorContains(t, err, says)
	}
	t.Setenv(udp.InsecureEnv, "1")
	d, err := udp.Provider{}.Open(nic.Config{})
	require.NoError(t, err)
	require.NoError(t, d.Close())
}

// Where a firewall must know the second port of a listening device, it can be chosen.
func TestDataPort(t *testing.T) {
	listen := nic.Config{Listen: "127.0.0.1:0"}
	free := netip.MustParseAddrPort(freePort(t, "127.0.0.1"))
	t.Setenv(udp.InsecureEnv, "1")
	t.Setenv(udp.DataPortEnv, fmt.Sprint(free.Port()))
	d, err := udp.Provider{}.Open(listen)
	require.NoError(t, err)
	_, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(free))
	assert.Error(t, err, "the device has it")
	_, err = udp.Provider{}.Open(listen)
	assert.ErrorContains(t, err, udp.DataPortEnv)
	assert.ErrorContains(t, err, "address in use")

	client, err := udp.Provider{}.Open(nic.Config{})
	require.NoError(t, err, "it is for those who listen")
	require.NoError(t, client.Close())
	require.NoError(t, d.Close())
	for _, bad := range []string{"0", "65536", "seven"} {
		t.Setenv(udp.DataPortEnv, bad)
		_, err = udp.Provider{}.Open(listen)
		assert.ErrorContains(t, err, "want a port from 1 to 65535")
	}
}

// A device that listens at all addresses answers from the address that was asked, also
// if the kernel would choose another one.
func TestAnswersComeFromWhereWasAsked(t *testing.T) {
	for _, listen := range []string{":0", "0.0.0.0:0"} {
		for _, to := range []string{"127.0.0.1", "127.0.0.2", "127.1.2.3"} {
			t.Run(listen+" at "+to, func(t *testing.T) {
				listener, err := udp.Provider{Insecure: true}.Open(nic.Config{Listen: listen})
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, listener.Close()) })
				accept, err := listener.OpenPort(nic.PortAttrs{Reliability: nic.ReliableReception, RecvDepth: 1, SendDepth: 1}, nil)
				require.NoError(t, err)
				require.NoError(t, accept.PostRecv(&nic.Descriptor{Op: nic.OpRecv, Flags: nic.FlagLoan}))
				at := netip.MustParseAddrPort(listener.LocalAddr())
				d, port := dial(t, udp.Provider{}, nic.Config{}, fmt.Sprintf("%s:%d", to, at.Port()))
				up, sent, received := false, false, false
				require.Eventually(t, func() bool {
					var out [4]nic.Event
					for _, e := range out[:listener.Poll(out[:])] {
						if e.Kind == nic.EventConnectRequest {
							require.NoError(t, listener.Accept(e.Conn.Request, accept))
						}
						received = received || e.Kind == nic.EventRecv
					}
					for _, e := range out[:d.Poll(out[:])] {
						up = up || e.Kind == nic.EventConnected
						sent = sent || e.Kind == nic.EventSend
						if e.Kind == nic.EventConnected {
							_, err := port.PostSend(&nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: make([]byte, 8000)}}})
							require.NoError(t, err)
						}
					}
					return up && sent && received
				}, wallclock.Patience, time.Millisecond)
			})
		}
	}
}
