package udp_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// An end is one device with one port and one registered memory.
type end struct {
	dev  *udp.Device
	port nic.Port
	name string
	host *simdgram.Host
	mem  []byte
	h    nic.Handle
	up   bool
	over bool
	err  error // that the connection ended with
	log  string
}

// A pipe is a connection between two ends.
type pipe struct {
	t    *testing.T
	w    *udptest.World
	a, b *end
}

const pipeBytes = 1 << 20

var lan = sim.LinkOptions{DelayMin: 30 * time.Microsecond, DelayMean: 50 * time.Microsecond}

func newPipe(t *testing.T, w *udptest.World) *pipe {
	p := &pipe{t: t, w: w}
	p.a, p.b = p.open(w.NewName()), p.open(w.NewName())
	return p
}

func (p *pipe) open(name string) *end {
	e := &end{name: name, mem: make([]byte, pipeBytes), host: p.w.Net.Host(netip.MustParseAddrPort(name).Addr())}
	dev, err := p.w.Open(nic.Config{Listen: name, Clock: p.w.Clock})
	require.NoError(p.t, err)
	var ok bool
	e.dev, ok = dev.(*udp.Device)
	require.True(p.t, ok)
	e.h, err = e.dev.Register(e.mem, nic.AccessRemoteWrite|nic.AccessRemoteRead, 1)
	require.NoError(p.t, err)
	p.openPort(e)
	return e
}

// openPort makes a port for another connection.
func (p *pipe) openPort(e *end) {
	port, err := e.dev.OpenPort(nic.PortAttrs{
		Reliability: nic.ReliableReception, Tag: 1, RecvDepth: 1, SendDepth: 8, RemoteWrite: true, RemoteRead: true,
	}, e)
	require.NoError(p.t, err)
	e.port, e.up, e.over, e.err = port, false, false, nil
}

// connect connects the two, however long that takes on a bad network.
func (p *pipe) connect() {
	p.t.Helper()
	require.NoError(p.t, p.a.port.Connect(p.b.name, nil, time.Minute))
	p.until("the connection", func() bool { return p.a.up && p.b.up })
}

// part ends the connection in good order, and checks that both devices forget it.
func (p *pipe) part() {
	p.t.Helper()
	p.a.port.Disconnect()
	p.until("the end", func() bool { return p.a.over && p.b.over })
	p.forgotten()
}

// forgotten waits until both devices have forgotten a connection that is over.
func (p *pipe) forgotten() {
	p.t.Helper()
	for _, e := range []*end{p.a, p.b} {
		require.NoError(p.t, e.port.Close())
	}
	limit := p.w.Clock() + udp.LeaveTimeout + time.Second
	p.until("nothing is left", func() bool {
		a, b := p.a.dev.LeftBehind(), p.b.dev.LeftBehind()
		require.Less(p.t, p.w.Clock(), limit, "%s; %s", a, b)
		return a == "" && b == ""
	})
}

func (p *pipe) poll() {
	var events [16]nic.Event
	for _, e := range []*end{p.a, p.b} {
		for _, ev := range events[:e.dev.Poll(events[:])] {
			e.log += fmt.Sprintf("%v %d", p.w.Clock(), ev.Kind)
			switch ev.Kind {
			case nic.EventConnectRequest:
				require.NoError(p.t, e.dev.Accept(ev.Conn.Request, e.port))
			case nic.EventConnected:
				e.up = true
			case nic.EventConnectFailed, nic.EventDisconnected:
				e.over, e.err = true, ev.Conn.Err
			case nic.EventSend, nic.EventRecv:
				e.log += fmt.Sprintf(" %d", ev.Desc.Status)
			}
			e.log += "\n"
		}
	}
}

// until continues until done returns true, for at most a minute of virtual time.
func (p *pipe) until(what string, done func() bool) {
	p.t.Helper()
	for limit := p.w.Clock() + time.Minute; ; p.w.Step() {
		p.poll()
		if done() {
			return
		}
		require.Less(p.t, p.w.Clock(), limit, "%s: %v, %v", what, p.a.err, p.b.err)
	}
}

// post starts an operation that moves all memory from a to b, or back.
func (p *pipe) post(op nic.Op) *nic.Descriptor {
	p.t.Helper()
	d := &nic.Descriptor{
		Op: op, Segments: []nic.Segment{{Data: p.a.mem, Handle: p.a.h}},
		Remote: nic.Remote{Addr: addrOf(p.b.mem), Handle: p.b.h},
	}
	done, err := p.a.port.PostSend(d)
	require.NoError(p.t, err)
	require.False(p.t, done)
	return d
}

// move moves all memory, and returns how long that took.
func (p *pipe) move(op nic.Op) time.Duration {
	p.t.Helper()
	from := p.a.mem
	if op == nic.OpRDMARead {
		from = p.b.mem
	}
	for i := range from {
		from[i]++
	}
	start := p.w.Clock()
	d := p.post(op)
	p.until("the data", func() bool { return d.Status != nic.StatusPending || p.a.over })
	require.Equal(p.t, nic.StatusSuccess, d.Status, "%v", p.a.err)
	require.True(p.t, bytes.Equal(p.a.mem, p.b.mem))
	return p.w.Clock() - start
}
