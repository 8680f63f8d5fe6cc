package udp_test

import (
	"encoding/binary"
	"log/slog"
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

const (
	sideTag   = 1
	sideDepth = 32
)

// A side is a device in a simulated world with at most one connection, and a record of
// everything that a test checks.
type side struct {
	t     testing.TB
	w     *udptest.World
	d     *udp.Device
	name  string
	level nic.Reliability

	port nic.Port
	up   bool
	err  error         // why the latest connection, or attempt, ended
	at   time.Duration // when it ended

	requested         func(*nic.ConnEvent) // if set
	asked, ups, downs int                  // connect requests, connections, ends of both

	recvs  [sideDepth]nic.Descriptor
	taken  func(payload []byte)    // a message
	done   func(d *nic.Descriptor) // an operation of the send queue
	events [32]nic.Event
}

// newSide opens a device under a name of its own.
func newSide(t testing.TB, w *udptest.World, name string) *side {
	s := &side{t: t, w: w, name: name, level: nic.ReliableReception}
	s.taken, s.done = func([]byte) {}, func(*nic.Descriptor) {}
	s.open()
	return s
}

// open opens the device, also again after a crash.
func (s *side) open() {
	d, err := s.w.Open(nic.Config{Listen: s.name, Clock: s.w.Clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(s.t, err)
	device, ok := d.(*udp.Device)
	require.True(s.t, ok)
	s.d, s.port, s.up = device, nil, false
}

// host is the address of the machine.
func (s *side) host() netip.Addr { return netip.MustParseAddrPort(s.name).Addr() }

// newPort makes a port with all of its receives posted.
func (s *side) newPort() {
	port, err := s.d.OpenPort(nic.PortAttrs{
		Reliability: s.level, Tag: sideTag, RecvDepth: sideDepth, SendDepth: 64,
		RemoteWrite: true, RemoteRead: true,
	}, nil)
	require.NoError(s.t, err)
	s.port, s.err = port, nil
	for i := range s.recvs {
		s.recvs[i] = nic.Descriptor{}
		s.postRecv(&s.recvs[i])
	}
}

func (s *side) postRecv(d *nic.Descriptor) {
	d.Op, d.Flags, d.Data = nic.OpRecv, nic.FlagLoan, nil
	_ = s.port.PostRecv(d) // refused once the connection has ended
}

// dial requests a connection to the other side.
func (s *side) dial(to *side) {
	s.newPort()
	require.NoError(s.t, s.port.Connect(to.name, []byte(s.name), 0))
}

// poll takes the events.
func (s *side) poll() {
	for {
		n := s.d.Poll(s.events[:])
		for i := range s.events[:n] {
			s.event(&s.events[i])
		}
		if n < len(s.events) {
			return
		}
	}
}

func (s *side) event(e *nic.Event) {
	switch e.Kind {
	case nic.EventConnectRequest:
		s.asked++
		if s.requested != nil {
			s.requested(e.Conn)
		}
		if s.port != nil {
			require.NoError(s.t, s.d.Reject(e.Conn.Request, []byte("in use")))
			return
		}
		s.newPort()
		require.NoError(s.t, s.d.Accept(e.Conn.Request, s.port))
	case nic.EventConnected:
		s.up = true
		s.ups++
	case nic.EventConnectFailed, nic.EventDisconnected:
		s.up, s.err, s.at = false, e.Conn.Err, s.w.Clock()
		s.downs++
		require.NoError(s.t, s.port.Close())
		s.port = nil
	case nic.EventRecv:
		if e.Desc.Status == nic.StatusSuccess {
			s.taken(e.Desc.Data)
			s.postRecv(e.Desc)
		}
	case nic.EventSend:
		s.done(e.Desc)
	case nic.EventError:
	}
}

// post posts to the send queue; it returns false if there is no room, or no connection.
func (s *side) post(d *nic.Descriptor) bool {
	if !s.up {
		return false
	}
	done, err := s.port.PostSend(d)
	if done {
		s.done(d)
	}
	return err == nil
}

// turn lets all sides act, and time pass.
func turn(sides ...*side) {
	w := sides[0].w
	w.Idle(-1)
	w.Sim.AdvanceTo(w.Clock()) // all that happens now
	for _, s := range sides {
		s.poll()
	}
}

// within lets the sides act until done returns true; it fails after limit.
func within(t testing.TB, limit time.Duration, what string, done func() bool, sides ...*side) {
	t.Helper()
	w := sides[0].w
	for until := w.Clock() + limit; !done(); turn(sides...) {
		if w.Clock() >= until {
			for _, s := range sides {
				t.Logf("%s: up %v, %d asked, %d ups, %d downs (%v), %+v", s.name, s.up, s.asked, s.ups, s.downs, s.err, s.d.Stats())
			}
			require.Fail(t, "too late", "%s: not within %v", what, limit)
		}
	}
}

// fill writes message number n of a stream: the number, and bytes that depend on it.
func fill(b []byte, n uint64) {
	binary.LittleEndian.PutUint64(b, n)
	for i := 8; i < len(b); i++ {
		b[i] = byte(uint64(i) + n*7)
	}
}

// numberOf returns the number of a message, which must be as fill made it.
func numberOf(t testing.TB, b []byte) uint64 {
	require.GreaterOrEqual(t, len(b), 8)
	n := binary.LittleEndian.Uint64(b)
	for i := 8; i < len(b); i++ {
		if b[i] != byte(uint64(i)+n*7) {
			require.Fail(t, "wrong content", "message %d, byte %d of %d", n, i, len(b))
		}
	}
	return n
}

func addrOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
