package simtest

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/via/ops"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

// hostileWorld is a victim endpoint, an honest peer of it and a hostile NIC, in
// virtual time.
type hostileWorld struct {
	t              testing.TB
	world          *sim.World
	nics           *simnic.World
	victim, honest *bmi.Endpoint
	vctx, hctx     *bmi.Context
	toHonest       bmi.Addr
	toVictim       bmi.Addr

	nic     *vipl.NIC
	cq      *vipl.CQ
	vi      *vipl.VI
	seq     uint32
	session uint64
	id      matchbits.PeerID // as the victim assigned it
	tag     bmi.Tag
	ended   map[bmi.OpID]bmi.Completion // of the victim
}

func newHostileWorld(t testing.TB, seed uint64) *hostileWorld {
	h := &hostileWorld{t: t, world: sim.New(sim.Options{Seed: seed}), session: 1 << 40, ended: make(map[bmi.OpID]bmi.Completion)}
	h.nics = simnic.New(h.world, simnic.Options{PeerWrites: 0.5})
	open := func(name string, n uint64) (*bmi.Endpoint, *bmi.Context) {
		e, err := bmi.Open(context.Background(), bmi.Config{
			Listen: []string{"via+sim://" + name},
			Manual: true,
			Clock:  h.nics.Clock,
			Options: map[string]any{"via+sim": simOptions{h.nics, via.Options{
				Seed: seed<<8 + n, Idle: h.nics.Idle,
			}}},
		})
		require.NoError(t, err)
		t.Cleanup(func() { _ = e.Close() })
		c, err := e.OpenContext()
		require.NoError(t, err)
		return e, c
	}
	h.victim, h.vctx = open("victim", 1)
	h.honest, h.hctx = open("honest", 2)
	var err error
	h.toHonest, err = h.victim.Lookup("via+sim://honest")
	require.NoError(t, err)
	h.toVictim, err = h.honest.Lookup("via+sim://victim")
	require.NoError(t, err)
	h.nic, err = vipl.OpenNIC(h.nics, vipl.NICConfig{Listen: "hostile", Clock: h.nics.Clock, Events: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.nic.Close() })
	h.cq, err = h.nic.CreateCQ(64)
	require.NoError(t, err)
	return h
}

// turn lets everybody but the hostile side do something.
func (h *hostileWorld) turn() {
	var out [8]bmi.Completion
	if !h.world.Step() {
		h.world.RunFor(time.Millisecond)
	}
	k, err := h.vctx.TestContext(out[:], 0)
	require.NoError(h.t, err)
	for _, c := range out[:k] {
		h.ended[c.Op] = c
	}
	_, err = h.hctx.TestContext(out[:], 0)
	require.NoError(h.t, err)
	var u [4]bmi.Unexpected
	n, err := h.victim.TestUnexpected(u[:], 0)
	require.NoError(h.t, err)
	for i := range u[:n] {
		u[i].Release()
	}
}

// connect makes a link and shakes hands as the protocol wants it.
func (h *hostileWorld) connect() {
	tag, err := h.nic.CreatePtag()
	require.NoError(h.t, err)
	h.vi, err = h.nic.CreateVI(vipl.VIAttributes{
		Reliability: vipl.ReliableDelivery, Tag: tag, RemoteRead: true, RemoteWrite: true,
	}, h.cq, h.cq)
	require.NoError(h.t, err)
	for range 64 {
		require.NoError(h.t, h.vi.PostRecv(vipl.FillRecvLoan(&nic.Descriptor{})))
	}
	h.session++
	ask := wire.LinkReq{Version: wire.Version, Session: h.session, Attempt: 1, Name: "hostile"}
	require.NoError(h.t, h.vi.ConnectStart(
		vipl.Address{Host: "victim", Discriminator: "bmi"},
		vipl.ConnectOptions{Private: ask.Append(nil)}))
	h.until(func() bool { h.pollHostile(); return h.vi.State() == vipl.Connected })
	h.seq, h.id = 0, 0
	req := wire.ConnReq{
		Version: wire.Version, Session: h.session, Attempt: 1,
		Terms: wire.Terms{PeerID: 77, Credits: 64, MTU: 8192, Eager: 16384, Flags: wire.ConnRDMARead | wire.ConnRDMAWrite}, Name: "hostile",
	}
	h.send(matchbits.TypeConnReq, 0, 0, req.Append(nil))
	h.until(func() bool { h.pollHostile(); return h.id != 0 })
}

// pollHostile reads the packets that arrived. Only CONN_ACK matters.
func (h *hostileWorld) pollHostile() {
	var out [16]vipl.Completion
	for _, c := range out[:h.cq.Poll(out[:])] {
		if c.Queue != vipl.QueueRecv || c.Desc.Status != nic.StatusSuccess {
			continue
		}
		data, _ := vipl.Payload(c.Desc)
		if hdr, body, err := wire.ParseHeader(data); err == nil && hdr.Bits.Type() == matchbits.TypeConnAck {
			if ack, err := wire.ParseConnAck(body); err == nil {
				h.id = matchbits.PeerID(ack.PeerID)
			}
		}
		_ = h.vi.PostRecv(vipl.FillRecvLoan(c.Desc)) // refused once the link is down
	}
	var events [8]vipl.ConnEvent
	h.nic.PollEvents(events[:])
}

func (h *hostileWorld) until(done func() bool) {
	h.t.Helper()
	for range 100_000 {
		if done() {
			return
		}
		h.turn()
	}
	require.Fail(h.t, "not done in time", "victim: %+v", h.victim.Stats())
}

// send sends a packet with a right header, raw one without.
func (h *hostileWorld) send(kind matchbits.Type, tag, aux uint32, body []byte) {
	h.seq++
	h.raw(append(wire.Header{
		Bits: matchbits.Make(kind, 0, h.id, tag), Seq: h.seq, Aux: aux,
	}.Append(nil), body...))
}

func (h *hostileWorld) raw(packet []byte) {
	d := &nic.Descriptor{}
	_, _ = h.vi.PostSend(vipl.FillSend(d, vipl.Segment{Data: packet})) // refused once the link is down
}

// honestExchange proves that the victim still serves others.
func (h *hostileWorld) honestExchange() {
	h.t.Helper()
	h.tag++
	got := make([]byte, 40_000)
	want := make([]byte, len(got))
	for i := range want {
		want[i] = byte(i) ^ byte(h.tag)
	}
	p, err := h.vctx.PostRecv(h.toHonest, h.tag, got, nil)
	require.NoError(h.t, err)
	require.False(h.t, p.Done)
	_, err = h.hctx.PostSend(h.toVictim, h.tag, want, nil)
	require.NoError(h.t, err)
	h.until(func() bool {
		c, done := h.ended[p.Op]
		require.NoError(h.t, c.Err)
		return done
	})
	require.Equal(h.t, want, got)
}

func (h *hostileWorld) protocolErrors() uint64 { return h.victim.Stats().Methods[0].Errors.Protocol }

// TestHostilePackets: each of these packets breaks a rule. The victim drops the
// peer with an error and a counter, and serves others.
func TestHostilePackets(t *testing.T) {
	piece := []wire.Piece{{Addr: 1, Handle: 2, Len: 100_000}}
	packets := map[string]func(h *hostileWorld){
		"short header":      func(h *hostileWorld) { h.raw([]byte{1, 2, 3}) },
		"empty packet":      func(h *hostileWorld) { h.raw(nil) },
		"sequence too high": func(h *hostileWorld) { h.seq++; h.send(matchbits.TypeExpected, 0, 0, nil) },
		"sequence repeated": func(h *hostileWorld) { h.seq--; h.send(matchbits.TypeExpected, 0, 0, nil) },
		"another's peer id": func(h *hostileWorld) { h.id++; h.send(matchbits.TypeExpected, 0, 0, nil) },
		"unknown type":      func(h *hostileWorld) { h.send(matchbits.TypeNICConnectReq, 0, 0, nil) },
		"length over limit": func(h *hostileWorld) {
			h.send(matchbits.TypeExpected, 0, wire.EagerFirst{Length: 1 << 20}.Aux(), []byte{1})
		},
		"more than it says": func(h *hostileWorld) {
			h.send(matchbits.TypeUnexpected, 0, wire.EagerFirst{Length: 1}.Aux(), []byte{1, 2})
		},
		"next without first": func(h *hostileWorld) { h.send(matchbits.TypeExpected, 0, wire.EagerNext{Offset: 8}.Aux(), []byte{1}) },
		"first without next": func(h *hostileWorld) {
			first := wire.EagerFirst{Length: 100}.Aux()
			h.send(matchbits.TypeUnexpected, 0, first, []byte{1})
			h.send(matchbits.TypeUnexpected, 0, first, []byte{1})
		},
		"credits from nowhere": func(h *hostileWorld) { h.send(matchbits.TypeCredit, 0, 64, nil) },
		"CTS for nothing": func(h *hostileWorld) {
			h.send(matchbits.TypeCTS, 0, 0, (&wire.CTS{SendOp: 1 << 32, Size: 10}).Append(nil))
		},
		"FIN for nothing":  func(h *hostileWorld) { h.send(matchbits.TypeFin, 0, 0, wire.Fin{Op: 1 << 32}.Append(nil)) },
		"DATA for nothing": func(h *hostileWorld) { h.send(matchbits.TypeData, 0, 0, append(wire.Data{}.Append(nil), 1)) },
		"RTS cut short":    func(h *hostileWorld) { h.send(matchbits.TypeRTS, 0, 0, []byte{1}) },
		"RTS over the limit": func(h *hostileWorld) {
			h.send(matchbits.TypeRTS, 0, 0, (&wire.RTS{Op: 1, Size: ops.ExpectedBytesMax + 1}).Append(nil))
		},
	}
	for name, attack := range packets {
		t.Run(name, func(t *testing.T) {
			h := newHostileWorld(t, 1)
			h.honestExchange()
			h.connect()
			before := h.protocolErrors()
			attack(h)
			h.until(func() bool { h.pollHostile(); return h.protocolErrors() > before })
			h.until(func() bool { h.pollHostile(); return h.vi.State() != vipl.Connected })
			h.honestExchange()
		})
	}
	t.Run("memory that is not there", func(t *testing.T) {
		h := newHostileWorld(t, 1)
		h.connect()
		from, err := h.victim.Lookup("via+sim://hostile")
		require.NoError(t, err)
		p, err := h.vctx.PostRecv(from, 5, make([]byte, 100_000), nil)
		require.NoError(t, err)
		h.send(matchbits.TypeRTS, 5, 0, (&wire.RTS{Op: 1, Size: 100_000, Pieces: piece}).Append(nil))
		h.until(func() bool {
			h.pollHostile()
			c, done := h.ended[p.Op]
			require.True(t, !done || c.Err != nil)
			return done
		})
		h.honestExchange()
	})
}

// TestHostileWithoutCredits: a peer that sends without credits, which its NIC
// lets it do, is dropped before it costs more memory than the credits allow, also
// when it gives none back.
func TestHostileWithoutCredits(t *testing.T) {
	for name, tooMany := range map[string]int{"taken": 64 * 64, "not taken": ops.EarlyMessagesMaxPerPeer + 2*via.CreditsPerPeer} {
		t.Run(name, func(t *testing.T) {
			h := newHostileWorld(t, 1)
			h.connect()
			kind := matchbits.TypeUnexpected
			if name == "not taken" {
				kind = matchbits.TypeExpected
			}
			for range tooMany {
				h.send(kind, 0, wire.EagerFirst{Length: 1}.Aux(), []byte{1})
				h.pollHostile()
				h.turn()
			}
			h.until(func() bool { h.pollHostile(); return h.protocolErrors() > 0 })
			from, err := h.victim.Lookup("via+sim://hostile")
			require.NoError(t, err)
			h.until(func() bool {
				h.pollHostile()
				err := h.victim.CheckAddr(from)
				return err != nil && strings.Contains(err.Error(), "without a credit")
			})
			h.honestExchange()
		})
	}
}

// TestSimHostile sends packets drawn at random, most of them almost right, and
// connects again whenever the victim has had enough.
func TestSimHostile(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		h := newHostileWorld(t, seed)
		rng := rand.New(rand.NewPCG(seed, 3))
		h.honestExchange()
		for range 30 {
			h.connect()
			for range 40 {
				h.randomPacket(rng)
				h.pollHostile()
				h.turn()
			}
			h.honestExchange()
			if h.vi.State() == vipl.Connected {
				_ = h.vi.Disconnect()
			}
			h.until(func() bool { h.pollHostile(); return h.vi.State() == vipl.Idle || h.vi.State() == vipl.Error })
		}
		require.NotZero(t, h.protocolErrors())
	})
}

// randomPacket sends one packet.
func (h *hostileWorld) randomPacket(rng *rand.Rand) {
	body := make([]byte, rng.IntN(64))
	for i := range body {
		body[i] = byte(rng.IntN(4))
	}
	switch rng.IntN(12) {
	case 0:
		h.raw(body)
	case 1:
		h.send(matchbits.Type(1+rng.IntN(13)), uint32(rng.IntN(3)), rng.Uint32(), body)
	case 2:
		h.send(matchbits.TypeRTS, uint32(rng.IntN(3)), 0, (&wire.RTS{Op: rng.Uint64(), Size: uint64(rng.IntN(1 << 20))}).Append(nil))
	case 3:
		h.send(matchbits.TypeKeepAlive, 0, uint32(rng.IntN(2)), nil)
	case 4:
		h.send(matchbits.TypeCancel, 0, rng.Uint32()%300, nil)
	default:
		kind := matchbits.TypeExpected
		if rng.IntN(2) == 0 {
			kind = matchbits.TypeUnexpected
		}
		h.send(kind, uint32(rng.IntN(3)), wire.EagerFirst{Length: len(body) + rng.IntN(8)/7}.Aux(), body)
	}
}
