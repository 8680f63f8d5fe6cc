package udp_test

import (
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/kernel"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// freePort returns an address of a host, 127.0.0.1 or ::1, that no process uses.
func freePort(t *testing.T, host string) string {
	if host == "::1" {
		need.Loopback6(t)
	}
	return net.JoinHostPort(host, strconv.Itoa(freeport.UDP(t)))
}

// dial requests a connection from a device of its own.
func dial(t *testing.T, p udp.Provider, cfg nic.Config, to string) (nic.Device, nic.Port) {
	p.Insecure = true
	cfg.Log = slog.New(slog.DiscardHandler)
	d, err := p.Open(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	port, err := d.OpenPort(nic.PortAttrs{Reliability: nic.ReliableReception, RecvDepth: 1, SendDepth: 1}, nil)
	require.NoError(t, err)
	require.NoError(t, port.Connect(to, nil, 0))
	return d, port
}

// firstEvent waits for the first event.
func firstEvent(t *testing.T, d nic.Device) nic.Event {
	var out [1]nic.Event
	require.Eventually(t, func() bool { return d.Poll(out[:]) == 1 }, wallclock.Patience, time.Millisecond)
	return out[0]
}

// A machine reports that a port is not in use, and the dialling side need not wait
// until its attempt times out.
func TestNobodyIsFoundAtOnce(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		for _, listen := range []string{"", net.JoinHostPort(host, "0")} {
			t.Run(host+" from "+listen, func(t *testing.T) {
				start := time.Now()
				d, _ := dial(t, udp.Provider{}, nic.Config{Listen: listen}, freePort(t, host))
				e := firstEvent(t, d)
				wallclock.Under(t, time.Since(start), 2*time.Second, "the news that nobody is there")
				require.Equal(t, nic.EventConnectFailed, e.Kind)
				require.ErrorIs(t, e.Conn.Err, nic.ErrUnreachable)
				assert.ErrorContains(t, e.Conn.Err, "says the machine")
			})
		}
	}
}

// At one of the addresses of a name nothing listens; at the other one a device
// answers late.
func TestNobodyAtOneOfTwoAddresses(t *testing.T) {
	need.Loopback6(t)
	listener, err := udp.Provider{Insecure: true}.Open(nic.Config{Listen: "[::1]:0"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	_, port, err := net.SplitHostPort(listener.LocalAddr())
	require.NoError(t, err)
	d, _ := dial(t, udp.Provider{}, nic.Config{}, "localhost:"+port)
	var out [1]nic.Event
	for wait := time.Now().Add(300 * time.Millisecond); time.Now().Before(wait); {
		require.Zero(t, d.Poll(out[:]), "the listener has not looked yet")
	}
	require.Eventually(t, func() bool {
		require.Zero(t, d.Poll(out[:]))
		return listener.Poll(out[:]) == 1
	}, wallclock.Patience, time.Millisecond)
	assert.Equal(t, nic.EventConnectRequest, out[0].Kind)
}

// What the machine reports about a connection that exists is ignored: any host can
// forge it.
func TestNobodyEndsNoConnection(t *testing.T) {
	const giveUp = 500 * time.Millisecond
	var sockets *kernel.Device
	there := udp.Provider{Insecure: true, CloseDrain: -1, Datagrams: func() (_ dgram.Device, err error) {
		sockets, err = kernel.Open(kernel.Options{})
		return sockets, err
	}}
	listener, err := there.Open(nic.Config{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	accept, err := listener.OpenPort(nic.PortAttrs{Reliability: nic.ReliableReception, RecvDepth: 1, SendDepth: 1}, nil)
	require.NoError(t, err)
	d, port := dial(t, udp.Provider{GiveUp: giveUp}, nic.Config{}, listener.LocalAddr())
	var out [1]nic.Event
	require.Eventually(t, func() bool {
		if listener.Poll(out[:]) == 1 && out[0].Kind == nic.EventConnectRequest {
			require.NoError(t, listener.Accept(out[0].Conn.Request, accept))
		}
		return d.Poll(out[:]) == 1
	}, wallclock.Patience, time.Millisecond)
	require.Equal(t, nic.EventConnected, out[0].Kind)

	require.NoError(t, sockets.Close()) // the process is gone, without a word
	start := time.Now()
	_, err = port.PostSend(&nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: make([]byte, 500)}}})
	require.NoError(t, err)
	e := firstEvent(t, d)
	for e.Kind == nic.EventSend || e.Kind == nic.EventRecv {
		e = firstEvent(t, d)
	}
	require.Equal(t, nic.EventDisconnected, e.Kind)
	assert.GreaterOrEqual(t, time.Since(start), giveUp/2)
	require.NoError(t, listener.Close())
}

// A void receives packets without an answer, and answers probes as a test chooses.
type void struct {
	probes  [][]byte
	answers [][]byte
	to      netip.AddrPort
	ended   bool
}

func (v *void) Name() string                                 { return "void" }
func (v *void) Open(at netip.AddrPort) (dgram.Socket, error) { return voidSocket{at}, nil }
func (v *void) Close() error                                 { return nil }
func (v *void) EndProbes()                                   { v.ended = true }

func (v *void) Probe(_ netip.Addr, to netip.AddrPort, packet []byte) {
	v.probes, v.to = append(v.probes, append([]byte(nil), packet...)), to
}

func (v *void) Absent(quote []byte) (netip.AddrPort, int, bool) {
	if len(v.answers) == 0 {
		return netip.AddrPort{}, 0, false
	}
	n := copy(quote, v.answers[0])
	v.answers = v.answers[1:]
	return v.to, n, true
}

type voidSocket struct{ at netip.AddrPort }

func (s voidSocket) Addr() netip.AddrPort             { return s.at }
func (voidSocket) Send(b []dgram.Packet) (int, error) { return len(b), nil }
func (voidSocket) Recv([]dgram.Arrival) int           { return 0 }
func (voidSocket) PathMTU(netip.AddrPort) int         { return dgram.PayloadMin }
func (voidSocket) Stats() dgram.Stats                 { return dgram.Stats{} }
func (voidSocket) Close() error                       { return nil }

// Only a host that has seen an INIT can report that nothing listens there.
func TestForgedHints(t *testing.T) {
	var now time.Duration
	v := &void{}
	p := udp.Provider{Datagrams: func() (dgram.Device, error) { return v, nil }}
	d, _ := dial(t, p, nic.Config{Clock: func() time.Duration { return now }}, "192.0.2.1:7000")
	assert.Empty(t, v.probes, "the first INIT may be answered")
	var out [1]nic.Event
	for len(v.probes) < 2 {
		require.Zero(t, d.Poll(out[:]))
		now += time.Millisecond
	}
	require.Equal(t, netip.MustParseAddrPort("192.0.2.1:7000"), v.to)
	init := v.probes[0]
	require.Len(t, init, wire.InitBytes)
	for i := range wire.InitFixed {
		forged := append([]byte(nil), init...)
		forged[i] ^= 1
		v.answers = append(v.answers, forged, init[:i])
	}
	elsewhere := v.to
	v.answers = append(v.answers, nil)
	require.Zero(t, d.Poll(out[:]))
	assert.Empty(t, v.answers)
	assert.False(t, v.ended)

	v.to = netip.MustParseAddrPort("192.0.2.1:7001")
	v.answers = append(v.answers, init)
	require.Zero(t, d.Poll(out[:]), "it was asked elsewhere")

	v.to = elsewhere
	v.answers = append(v.answers, init)
	require.Equal(t, 1, d.Poll(out[:]))
	require.Equal(t, nic.EventConnectFailed, out[0].Kind)
	require.ErrorIs(t, out[0].Conn.Err, nic.ErrUnreachable)
	assert.True(t, v.ended)
}
