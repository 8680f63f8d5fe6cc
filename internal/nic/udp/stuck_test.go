package udp_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A stuckDevice makes sockets that take nothing while it is full.
type stuckDevice struct {
	dgram.Device
	full bool
}

func (d *stuckDevice) Open(at netip.AddrPort) (dgram.Socket, error) {
	s, err := d.Device.Open(at)
	return &stuckSocket{s, d}, err
}

type stuckSocket struct {
	dgram.Socket
	d *stuckDevice
}

func (s *stuckSocket) Send(batch []dgram.Packet) (int, error) {
	if s.d.full {
		return 0, dgram.ErrAgain
	}
	return s.Socket.Send(batch)
}

// A stuckSleeper is a stuckDevice on which its owner can sleep: simulated time passes.
type stuckSleeper struct {
	*stuckDevice
	w      *udptest.World
	sleeps int
}

func (*stuckSleeper) Arm() bool { return true }
func (*stuckSleeper) Disarm()   {}
func (*stuckSleeper) Wake()     {}

func (s *stuckSleeper) Sleep(timeout time.Duration) {
	s.sleeps++
	s.w.Sim.AdvanceTo(s.w.Sim.Now() + timeout)
}

// A stuck device is connected to another one, and its sockets become full when a test
// says so.
type stuck struct {
	nic.Device
	t         *testing.T
	w         *udptest.World
	to        *side
	at        netip.AddrPort
	datagrams *stuckDevice
	port      nic.Port
}

// newStuck makes a stuck device. sleeper, if not nil, is used as its datagrams, and
// can sleep.
func newStuck(t *testing.T, p udp.Provider, attrs nic.PortAttrs, sleeper *stuckSleeper) *stuck {
	w := udptest.New(1, sim.LinkOptions{DelayMin: time.Microsecond}, simdgram.Options{}, udp.Provider{Insecure: true})
	s := &stuck{t: t, w: w, to: newSide(t, w, w.NewName()), at: netip.MustParseAddrPort(w.NewName())}
	s.datagrams = &stuckDevice{Device: w.Net.Host(s.at.Addr()).Open()}
	p.Insecure, p.Datagrams = true, func() (dgram.Device, error) { return s.datagrams, nil }
	if sleeper != nil {
		sleeper.stuckDevice, sleeper.w = s.datagrams, w
		p.Datagrams = func() (dgram.Device, error) { return sleeper, nil }
	}
	var err error
	s.Device, err = p.Open(nic.Config{Listen: s.at.String(), Clock: w.Clock})
	require.NoError(t, err)
	s.port, err = s.OpenPort(attrs, nil)
	require.NoError(t, err)
	require.NoError(t, s.port.Connect(s.to.name, nil, 0))
	s.await(nic.EventConnected, 1)
	return s
}

// await polls until n events of a kind came, and no other.
func (s *stuck) await(kind nic.EventKind, n int) {
	var events [1]nic.Event
	within(s.t, time.Second, "an event", func() bool {
		if s.Poll(events[:]) == 1 {
			require.Equal(s.t, kind, events[0].Kind)
			n--
		}
		return n == 0
	}, s.to)
}

// fill makes the sockets full, and posts more messages than are put into packets for a
// full one.
func (s *stuck) fill(size int) {
	s.datagrams.full = true
	for range stuckMessages {
		done, err := s.port.PostSend(&nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: make([]byte, size)}}})
		require.NoError(s.t, err)
		require.Equal(s.t, size <= udp.CopyBytes, done)
	}
}

const stuckMessages = 32

// TestFullSocketLetsSleep: an endpoint that waits for room in a socket is woken when
// there is some, and does not poll until then.
func TestFullSocketLetsSleep(t *testing.T) {
	s := newStuck(t, udp.Provider{CloseDrain: -1}, nic.PortAttrs{RecvDepth: 1, SendDepth: stuckMessages}, &stuckSleeper{})
	mayWait := func() bool {
		at, ok := s.NextDeadline()
		return s.Device.(nic.Sleeper).Arm() && (!ok || at > s.w.Clock())
	}
	within(t, time.Second, "nothing to do", mayWait, s.to)
	s.fill(udp.MTUBytes)
	assert.Zero(t, s.Poll(make([]nic.Event, 1)))
	assert.True(t, mayWait(), "nothing can be sent now")
	s.datagrams.full = false
	s.await(nic.EventSend, stuckMessages)
}

// TestCloseWithFullSocket: Close sleeps while it waits for room, for as long as was
// configured.
func TestCloseWithFullSocket(t *testing.T) {
	const drain = 200 * time.Millisecond
	sleeper := &stuckSleeper{}
	s := newStuck(t, udp.Provider{CloseDrain: drain}, nic.PortAttrs{RecvDepth: 1, SendDepth: stuckMessages}, sleeper)
	s.fill(udp.CopyBytes) // which its owner takes for sent
	start, slept := s.w.Clock(), sleeper.sleeps
	require.ErrorIs(t, s.Close(), nic.ErrTimeout)
	assert.GreaterOrEqual(t, s.w.Clock()-start, drain)
	assert.Less(t, sleeper.sleeps-slept, 100)
}
