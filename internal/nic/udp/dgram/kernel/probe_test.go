//go:build linux

package kernel

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// nobody is a port that was free a moment ago.
func nobody(t *testing.T, at netip.AddrPort) netip.AddrPort {
	d, err := Open(Options{})
	require.NoError(t, err)
	defer d.Close()
	return bound(t, d, at).Addr()
}

// families are the addresses of a device, and the addresses of others for it.
func families() map[string][2]netip.AddrPort {
	everywhere := netip.MustParseAddrPort("[::]:0")
	return map[string][2]netip.AddrPort{
		"IPv4":            {loopback4, loopback4},
		"IPv6":            {loopback6, loopback6},
		"IPv4 from all":   {netip.MustParseAddrPort("0.0.0.0:0"), loopback4},
		"IPv4 among both": {everywhere, loopback4},
		"IPv6 among both": {everywhere, loopback6},
	}
}

func TestProbesFindNobody(t *testing.T) {
	for name, at := range families() {
		t.Run(name, func(t *testing.T) {
			if at[0].Addr().Is6() {
				need.Loopback6(t)
			}
			d := open(t, Options{})
			s := bound(t, d, at[0])
			to := nobody(t, at[1])
			asked := packet(to, 512, 7).Pieces[0]
			require.True(t, d.Arm())
			d.Probe(s.Addr().Addr(), to, asked)
			d.Disarm()
			require.Eventually(t, func() bool {
				woke := !d.Arm()
				d.Disarm()
				return woke
			}, wallclock.Patience, time.Millisecond, "the answer ends a Sleep")
			quote := make([]byte, 16)
			from, n, ok := d.Absent(quote)
			require.True(t, ok)
			assert.Equal(t, to, from)
			assert.Equal(t, asked[:16], quote[:n])
			_, _, ok = d.Absent(quote)
			assert.False(t, ok, "it was told")
			require.True(t, d.Arm(), "nothing is left")
			d.Disarm()

			assert.Zero(t, s.Recv(room(1)))
			send(t, s, packet(s.Addr(), 10, 1))
			d.EndProbes()
			_, _, ok = d.Absent(quote)
			assert.False(t, ok)
		})
	}
}

// A probe reaches a process, whose answers go nowhere.
func TestProbesOfSomebody(t *testing.T) {
	d := open(t, Options{})
	there := bound(t, open(t, Options{}), loopback4)
	d.Probe(loopback4.Addr(), there.Addr(), []byte("who is there"))
	in := room(1)
	eventually(t, "the probe arrives", func() bool { return there.Recv(in) == 1 })
	assert.Equal(t, "who is there", string(in[0].Buf[:in[0].Len]))
	send(t, there, packet(in[0].From, 10, 1))
	_, _, ok := d.Absent(make([]byte, 16))
	assert.False(t, ok)
	require.True(t, d.Arm(), "what is not received ends no Sleep")
	d.Disarm()
	assert.Len(t, d.sockets(), 1)
	d.EndProbes()
	d.EndProbes()
	assert.Empty(t, d.sockets())
	d.Probe(netip.MustParseAddr("192.0.2.1"), there.Addr(), []byte("not from here"))
	assert.Empty(t, d.sockets())
}

func (d *Device) sockets() (all []*socket) {
	for s := d.first; s != nil; s = s.next {
		all = append(all, s)
	}
	return all
}

func TestControlThatSaysNothing(t *testing.T) {
	for n := range 80 {
		assert.False(t, portUnreachable(make([]byte, n)))
	}
	assert.False(t, addrOf(nil).IsValid())
}
