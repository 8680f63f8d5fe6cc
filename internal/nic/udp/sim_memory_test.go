package udp_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

const (
	idlePeers     = 1000
	idlePeerBytes = 64 << 10 // aim of one side of a connection
	idleRestBytes = 8 << 10  // how much of that may be left of the messages
	idleRecvs     = 32
	idleMessage   = 1500 // two packets
	idleRound     = 16   // peers that exchange messages at the same time
)

// A gathering is one device with many connections to another one.
type gathering struct {
	t     *testing.T
	w     *udptest.World
	devs  [2]nic.Device
	ports [2][]nic.Port
	descs [2][]nic.Descriptor // receives, idleRecvs for each port
	sends []nic.Descriptor
	got   int
	sent  int
	up    int
}

// newGathering makes everything but the connections.
func newGathering(t *testing.T, p udp.Provider) (g *gathering, to string) {
	link := sim.LinkOptions{DelayMin: 20 * time.Microsecond, Loss: 0.05}
	g = &gathering{t: t, w: udptest.New(1, link, simdgram.Options{RecvBytesMax: 8 << 20}, p), sends: make([]nic.Descriptor, idleRound*idleRecvs)}
	for i := range g.devs {
		var err error
		to = g.w.NewName()
		g.devs[i], err = g.w.Open(nic.Config{Listen: to, Clock: g.w.Clock})
		require.NoError(t, err)
		g.ports[i] = make([]nic.Port, 0, idlePeers)
		g.descs[i] = make([]nic.Descriptor, idlePeers*idleRecvs)
	}
	return g, to
}

// port opens the next port of a device.
func (g *gathering) port(i int) nic.Port {
	p, err := g.devs[i].OpenPort(nic.PortAttrs{Reliability: nic.ReliableDelivery, RecvDepth: idleRecvs, SendDepth: idleRecvs}, nil)
	require.NoError(g.t, err)
	for k := range idleRecvs {
		d := &g.descs[i][len(g.ports[i])*idleRecvs+k]
		d.Op, d.Flags, d.Cookie = nic.OpRecv, nic.FlagLoan, p
		require.NoError(g.t, p.PostRecv(d))
	}
	g.ports[i] = append(g.ports[i], p)
	return p
}

func (g *gathering) until(done func() bool) {
	var events [64]nic.Event
	for limit := g.w.Clock() + time.Minute; !done(); g.w.Step() {
		require.Less(g.t, g.w.Clock(), limit)
		for i, dev := range g.devs {
			for _, ev := range events[:dev.Poll(events[:])] {
				switch ev.Kind {
				case nic.EventConnectRequest:
					require.NoError(g.t, dev.Accept(ev.Conn.Request, g.port(i)))
				case nic.EventConnected:
					g.up++
				case nic.EventRecv:
					g.got++
					port, ok := ev.Desc.Cookie.(nic.Port)
					require.True(g.t, ok)
					require.NoError(g.t, port.PostRecv(ev.Desc))
				case nic.EventSend:
					g.sent++
				default:
					require.Fail(g.t, "a connection ended", "%+v", ev.Conn)
				}
			}
		}
	}
}

// talk sends over every connection, in both directions, as many messages as there are
// receives; some arrive long before their turn.
func (g *gathering) talk() {
	payload := make([]byte, idleMessage)
	for _, ports := range g.ports {
		for from := 0; from < idlePeers; from += idleRound {
			round := ports[from:min(from+idleRound, idlePeers)]
			g.got, g.sent = 0, 0
			for i := range len(round) * idleRecvs {
				d := &g.sends[i]
				*d = nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: payload}}}
				done, err := round[i/idleRecvs].PostSend(d)
				require.NoError(g.t, err)
				if done {
					g.sent++ // it was copied
				}
			}
			g.until(func() bool { return g.got == len(round)*idleRecvs && g.sent == g.got })
		}
	}
}

// TestMemoryOfIdlePeers measures a connection that was used and has nothing on its
// way.
func TestMemoryOfIdlePeers(t *testing.T) {
	g, to := newGathering(t, udp.Provider{Key: udptest.Key})
	before := heapBytes()
	for i := range idlePeers {
		require.NoError(t, g.port(0).Connect(to, nil, 0))
		if i%idleRound == 0 {
			g.until(func() bool { return g.up >= 2*i })
		}
	}
	g.until(func() bool { return g.up == 2*idlePeers })
	each := func() int64 { return (heapBytes() - before) / (2 * idlePeers) }
	fresh := each()
	g.talk()
	busy := each()
	start := g.w.Clock()
	g.until(func() bool { return g.w.Clock() > start+2*udp.KeepAlive })
	idle := each()
	t.Logf("bytes per connected peer: %d fresh, %d after messages both ways, %d when idle", fresh, busy, idle)
	assert.LessOrEqual(t, idle, int64(idlePeerBytes))
	assert.LessOrEqual(t, idle-fresh, int64(idleRestBytes), "of what only traffic needs, little is kept")
	runtime.KeepAlive(g)
}

// heapBytes returns how much memory is in use.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
