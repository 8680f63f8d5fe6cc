package simnic

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A net is two devices in stepped time, with a port each.
type net struct {
	*testing.T
	world *sim.World
	w     *World
	a, b  *end
}

// An end is one device and the state of its test.
type end struct {
	dev  nic.Device
	port nic.Port
	mem  []byte
	h    nic.Handle
	got  []nic.Event
}

func newNet(t *testing.T, seed uint64, reliability nic.Reliability, link sim.LinkOptions, opts Options) *net {
	n := &net{T: t, world: sim.New(sim.Options{Seed: seed, Link: link})}
	n.w = New(n.world, opts)
	n.a, n.b = n.open("a", reliability), n.open("b", reliability)
	return n
}

func (n *net) open(name string, reliability nic.Reliability) *end {
	dev, err := n.w.Open(nic.Config{Listen: name})
	require.NoError(n, err)
	e := &end{dev: dev, mem: make([]byte, 1<<16)}
	n.newPort(e, reliability)
	e.h, err = dev.Register(e.mem, nic.AccessRemoteRead|nic.AccessRemoteWrite, 1)
	require.NoError(n, err)
	return e
}

func (n *net) newPort(e *end, reliability nic.Reliability) {
	var err error
	e.port, err = e.dev.OpenPort(nic.PortAttrs{
		Reliability: reliability, Tag: 1, RecvDepth: 64, SendDepth: 64, RemoteRead: true, RemoteWrite: true,
	}, e)
	require.NoError(n, err)
}

func (n *net) poll() {
	for _, e := range []*end{n.a, n.b} {
		var out [16]nic.Event
		e.got = append(e.got, out[:e.dev.Poll(out[:])]...)
	}
}

// until runs the world until an end has an event of a kind, which it takes.
func (n *net) until(e *end, kind nic.EventKind) (ev nic.Event) {
	n.Helper()
	require.NoError(n, n.world.RunUntil(func() bool {
		n.poll()
		for i := range e.got {
			if e.got[i].Kind == kind {
				ev = e.got[i]
				e.got = append(e.got[:i], e.got[i+1:]...)
				return true
			}
		}
		return false
	}))
	return ev
}

// pass lets time pass.
func (n *net) pass(d time.Duration) {
	n.world.RunFor(d)
	n.poll()
}

func (n *net) connect() {
	n.Helper()
	require.NoError(n, n.a.port.Connect("b", []byte("hello"), time.Minute))
	require.NoError(n, n.b.dev.Accept(n.until(n.b, nic.EventConnectRequest).Conn.Request, n.b.port))
	n.until(n.a, nic.EventConnected)
	n.until(n.b, nic.EventConnected)
}

func (e *end) seg(off, size int) nic.Segment {
	return nic.Segment{Data: e.mem[off : off+size], Handle: e.h}
}

func (e *end) remote(off int) nic.Remote {
	return nic.Remote{Addr: addrOf(e.mem) + uint64(off), Handle: e.h}
}

func (n *net) recv(e *end, segs ...nic.Segment) *nic.Descriptor {
	n.Helper()
	d := &nic.Descriptor{Op: nic.OpRecv, Segments: segs}
	require.NoError(n, e.port.PostRecv(d))
	return d
}

func (n *net) send(e *end, d *nic.Descriptor) *nic.Descriptor {
	n.Helper()
	_, err := e.port.PostSend(d)
	require.NoError(n, err)
	return d
}
