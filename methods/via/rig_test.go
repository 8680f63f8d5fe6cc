package via

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

// A rig is the method over a NIC that takes every receive and moves nothing, for
// tests of single steps. It is the Host, and knows one peer.
type rig struct {
	*method
	peer *remote
}

func newRig(t testing.TB) *rig {
	n, err := vipl.OpenNIC(idleNIC{}, vipl.NICConfig{Events: true})
	require.NoError(t, err)
	g := &rig{}
	opts, err := options(Options{Seed: 1})
	require.NoError(t, err)
	g.method, err = newMethod("via+idle", "", n, bmi.MethodConfig{
		Host: g, Clock: func() time.Duration { return 0 }, Log: slog.New(slog.DiscardHandler),
	}, opts)
	require.NoError(t, err)
	g.peer, err = g.newRemote("peer", false)
	require.NoError(t, err)
	return g
}

// connect gives the peer a link in use.
func (g *rig) connect(t testing.TB) *link {
	l, err := g.openLink(g.peer, 1)
	require.NoError(t, err)
	g.peer.open = true
	return l
}

// post posts an operation, and returns the record of it. The error that it
// completes with goes to ended.
func (g *rig) post(kind bmi.Kind, size int, ended *[]error) *opState {
	op := bmi.NewHostOp(func(_ *bmi.Op, _ int, err error) { *ended = append(*ended, err) })
	op.Kind, op.Peer, op.Bufs, op.Size = kind, g.peer, [][]byte{make([]byte, size)}, size
	if kind == bmi.KindRecv {
		g.PostRecv(op)
	} else {
		g.PostSend(op)
	}
	s, _ := op.Private.(*opState)
	return s
}

// NewAddr implements bmi.Host.
func (g *rig) NewAddr(p bmi.Peer) bmi.Addr { return bmi.NewHostAddr(p) }

// Arrived implements bmi.Host.
func (g *rig) Arrived(bmi.Addr, bmi.Class, bmi.Tag, []byte) bool { return true }

// Wake implements bmi.Host.
func (g *rig) Wake() {}

// idleNIC is the provider of a rig.
type idleNIC struct{ nic.Device }

func (n idleNIC) Name() string                                  { return "idle" }
func (n idleNIC) Open(nic.Config) (nic.Device, error)           { return n, nil }
func (n idleNIC) LocalAddr() string                             { return "here" }
func (n idleNIC) OpenPort(nic.PortAttrs, any) (nic.Port, error) { return idlePort{}, nil }
func (n idleNIC) Poll([]nic.Event) int                          { return 0 }
func (n idleNIC) NextDeadline() (time.Duration, bool)           { return 0, false }
func (n idleNIC) Caps() nic.Caps {
	return nic.Caps{
		InlineBytesMax: nic.InlineMax, MTUBytes: 8192, SegmentsMax: 16, RecvDepthMax: 64, SendDepthMax: 64,
		LoansRecv: true, UnregisteredSend: true, Reliability: nic.ReliableDelivery,
	}
}

type idlePort struct{ nic.Port }

func (idlePort) PostRecv(*nic.Descriptor) error                             { return nil }
func (idlePort) Connect(addr string, private []byte, _ time.Duration) error { return nil }
