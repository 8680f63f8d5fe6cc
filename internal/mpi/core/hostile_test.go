package core_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A stage is two engines and a hostile process, in one goroutine.
type stage struct {
	t     testing.TB
	net   *bmitest.Network
	nodes [2]*node
	mean  *bmi.Endpoint
	ctx   *bmi.Context
	addr  bmi.Addr // of node 0
	card  core.Card
}

func newStage(t testing.TB) *stage {
	s := &stage{t: t, net: bmitest.NewNetwork()}
	cards := []core.Card{
		{ID: core.ProcID{1}, Addresses: []string{"mem://a"}},
		{ID: core.ProcID{2}, Addresses: []string{"mem://b"}},
		{ID: core.ProcID{3}, Addresses: []string{"mem://mean"}},
	}
	s.mean, s.card = s.open("mean"), cards[2]
	var err error
	s.ctx, err = s.mean.OpenContext()
	require.NoError(t, err)
	for i, name := range []string{"a", "b"} {
		ep := s.open(name)
		e, err := core.New(core.Config{Endpoint: ep, Self: cards[i], Manual: true, Seed: 1})
		require.NoError(t, err)
		s.nodes[i] = &node{t: t, ep: ep, e: e}
		var all []*core.Proc
		for _, c := range cards {
			p, err := e.Proc(c)
			require.NoError(t, err)
			all = append(all, p)
		}
		s.nodes[i].all = all
		s.nodes[i].s = s.nodes[i].scope(2, i, all)
	}
	s.addr, err = s.mean.Lookup("mem://a")
	require.NoError(t, err)
	return s
}

func (s *stage) open(name string) *bmi.Endpoint {
	ep, err := bmi.Open(context.Background(), bmi.Config{
		Listen: []string{"mem://" + name}, Manual: true,
		Options: map[string]any{bmitest.Name: bmitest.Options{Network: s.net}},
		Limits:  bmi.Limits{PendingOps: 2048},
	})
	require.NoError(s.t, err)
	return ep
}

// hangUp closes an endpoint without a BYE.
func (s *stage) hangUp(ep *bmi.Endpoint) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = ep.Shutdown(ended)
}

func (s *stage) close() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, d := range s.nodes {
		_ = d.e.Close(ended)
		_ = d.ep.Shutdown(ended)
	}
	_ = s.mean.Shutdown(ended)
}

// step lets the engines and the hostile process make progress.
func (s *stage) step() {
	var out [16]bmi.Completion
	for range 20 {
		for _, d := range s.nodes {
			d.e.Progress()
		}
		_, _ = s.ctx.TestContext(out[:], 0)
	}
}

// say sends a packet unchanged.
func (s *stage) say(kind wire.Kind, b []byte) {
	_, _ = s.ctx.PostSendUnexpected(s.addr, 0, bmi.Tag(kind), b, nil)
	s.step()
}

func (s *stage) hello() wire.Hello {
	return wire.Hello{Version: wire.Version, Window: 1 << 20, ID: s.card.ID, To: core.ProcID{1}, Card: s.card.Encode()}
}

// talk exchanges messages between the two engines, which must always work.
func (s *stage) talk() {
	a, b := s.nodes[0], s.nodes[1]
	for _, n := range []int{8, 100_000} {
		in, out := room(n), mem(n, 3)
		r, err := a.s.Irecv(in, 1, 7)
		require.NoError(s.t, err)
		w, err := b.s.Isend(core.Synchronous, out, 0, 7)
		require.NoError(s.t, err)
		for range 50 {
			s.step()
		}
		st, ok, err := r.Test()
		require.NoError(s.t, err)
		require.True(s.t, ok)
		require.Equal(s.t, n, st.Bytes)
		require.Equal(s.t, out.Mem, in.Mem)
		_, ok, err = w.Test()
		require.NoError(s.t, err)
		require.True(s.t, ok)
	}
}

// Each of these breaks one rule. The process that does is dropped, and the others are not affected.
func TestBrokenRules(t *testing.T) {
	bits := wire.MakeBits(2, 2, 5)
	for name, c := range map[string]struct {
		kind wire.Kind
		b    []byte
	}{
		"a kind that there is not": {99, nil},
		"too short":                {wire.KindRTS, make([]byte, 5)},
		"credit for nothing":       {wire.KindCredit, wire.Credit{Credit: 1000}.Append(nil)},
		"an ACK for nothing":       {wire.KindAck, wire.Ack{ID: 77}.Append(nil)},
		"a CTS for nothing":        {wire.KindCTS, wire.CTS{ID: 77, Granted: 5, Piece: 5}.Append(nil)},
		"an enormous message":      {wire.KindRTS, wire.RTS{ID: 1, Bits: bits, Size: 1 << 60}.Append(nil)},
		"tiny pieces":              {wire.KindRTS, wire.RTS{ID: 1, Bits: bits, Size: 1 << 20, Piece: 1}.Append(nil)},
		"cancelled by itself":      {wire.KindCancelled, wire.Cancelled{ID: 5, Done: true}.Append(nil)},
		"a RETURN for nothing":     {wire.KindReturn, append(wire.Return{ID: 77}.Append(nil), 1)},
		"a call of another's rank": {wire.KindCall, wire.Call{ID: 1, Context: 2, Rank: 1}.Append(nil)},
		"a call of no rank":        {wire.KindCall, wire.Call{ID: 1, Context: 2, Rank: 1 << 20}.Append(nil)},
		"another's rank":           {wire.KindEager, append(wire.Eager{Bits: wire.MakeBits(2, 1, 5)}.Append(nil), 1, 2, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			defer s.close()
			r, err := s.nodes[0].s.Irecv(room(100), core.AnySource, 5)
			require.NoError(t, err)
			s.say(wire.KindHello, s.hello().Append(nil))
			s.say(c.kind, c.b)
			require.ErrorIs(t, s.nodes[0].all[2].Err(), errclass.ProcFailed)
			require.ErrorIs(t, s.nodes[0].all[2].Err(), errclass.Intern)
			assert.EqualValues(t, 1, s.nodes[0].e.Stats().Protocol)
			_, ok, err := r.Test()
			assert.True(t, ok, "who waits for anybody is told")
			assert.ErrorIs(t, err, errclass.ProcFailedPending)
			s.nodes[0].s.Acknowledge()
			s.say(wire.KindEager, append(wire.Eager{Bits: bits}.Append(nil), 1, 2, 3))
			_, ok, err = s.nodes[0].s.Iprobe(core.AnySource, core.AnyTag)
			assert.NoError(t, err)
			assert.False(t, ok, "it is not listened to")
			s.talk()
		})
	}
}

func TestRefused(t *testing.T) {
	for name, spoil := range map[string]func(h *wire.Hello){
		"version": func(h *wire.Hello) { h.Version++ },
		"to":      func(h *wire.Hello) { h.To[0]++ },
		"id":      func(h *wire.Hello) { h.ID[0]++ },
		"card":    func(h *wire.Hello) { h.Card = "nonsense" },
		"self":    func(h *wire.Hello) { h.ID = core.ProcID{1}; h.Card = core.Card{ID: h.ID}.Encode() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			defer s.close()
			h := s.hello()
			spoil(&h)
			s.say(wire.KindHello, h.Append(nil))
			assert.EqualValues(t, 1, s.nodes[0].e.Stats().Refused)
			s.say(wire.KindEager, wire.Eager{Bits: wire.MakeBits(2, 2, 5)}.Append(nil))
			assert.Zero(t, s.nodes[0].e.Stats().EarlyNow)
			s.talk()
		})
	}
}

// A process that ignores the window is dropped before it takes more memory than that.
func TestWindowIsKept(t *testing.T) {
	s := newStage(t)
	defer s.close()
	s.say(wire.KindHello, s.hello().Append(nil))
	b := append(wire.Eager{Bits: wire.MakeBits(2, 2, 5)}.Append(nil), make([]byte, 4000)...)
	for range 200 {
		s.say(wire.KindEager, b)
	}
	require.ErrorIs(t, s.nodes[0].all[2].Err(), errclass.ProcFailed)
	assert.LessOrEqual(t, s.nodes[0].e.Stats().EarlyNow, 256<<10/4064)
	s.talk()
}

// A receive from AnySource that was posted before its communicator was freed ends, like any other,
// when a possible sender dies.
func TestDeathAfterFree(t *testing.T) {
	s := newStage(t)
	defer s.close()
	a := s.nodes[0]
	s.say(wire.KindHello, s.hello().Append(nil))
	freed := a.scope(6, 0, a.all)
	r, err := freed.Irecv(room(1), core.AnySource, 5)
	require.NoError(t, err)
	require.NoError(t, freed.Close())
	s.say(wire.KindAck, nil) // too short
	require.ErrorIs(t, a.all[2].Err(), errclass.ProcFailed)
	_, ok, err := r.Test()
	require.True(t, ok)
	require.ErrorIs(t, err, errclass.ProcFailedPending)
	s.talk()
}

// A process that promises a large window and reads nothing does not make a sender keep an unlimited
// number of messages.
func TestEmptyPromise(t *testing.T) {
	s := newStage(t)
	defer s.close()
	h := s.hello()
	h.Window = math.MaxUint32
	s.say(wire.KindHello, h.Append(nil))
	out := mem(8, 1)
	const most = 16 << 20 / (64 + 8)
	for sent := 0; ; sent++ {
		if sent > most { // package require is slow
			require.LessOrEqual(t, sent, most)
		}
		r, err := s.nodes[0].s.Isend(core.Standard, out, 2, 1)
		if err != nil {
			require.NoError(t, err)
		}
		if s.nodes[0].e.Stats().Sending > 0 {
			require.Greater(t, sent, most/2)
			break
		}
		if err := r.Free(); err != nil {
			require.NoError(t, err)
		}
	}
	require.NoError(t, s.nodes[0].all[2].Err())
}

// A message that is too large for any receiver is refused by the sender: the same byte, very often.
func TestEnormousSend(t *testing.T) {
	s := newStage(t)
	defer s.close()
	long, err := datatype.Hvector(1<<48+1, 1, 0, datatype.Int8)
	require.NoError(t, err)
	_, err = s.nodes[0].s.Isend(core.Standard, core.Buffer{Mem: make([]byte, 1), Type: long, Count: 1}, 1, 7)
	require.ErrorIs(t, err, errclass.Count)
	s.talk()
}

// Little is kept of a failed process that was unknown here. Its own card does not count once
// Engine.Proc is called with another.
func TestStrangers(t *testing.T) {
	s := newStage(t)
	defer s.close()
	a := s.nodes[0]
	card := core.Card{ID: core.ProcID{9}, Host: "here", Addresses: []string{"mem://nine"}}
	h := s.hello()
	h.ID, h.Card = card.ID, core.Card{ID: card.ID, Addresses: []string{"mem://b", "mem://nowhere"}}.Encode()
	s.say(wire.KindHello, h.Append(nil))
	bits := wire.MakeBits(6, 1, 5)
	for id := range uint32(10) {
		s.say(wire.KindRTS, wire.RTS{ID: id + 1, Bits: bits, Size: 5000}.Append(nil))
	}
	s.say(wire.KindEager, append(wire.Eager{Bits: bits}.Append(nil), 99))
	require.Equal(t, 11, a.e.Stats().EarlyNow)
	s.say(wire.KindAck, nil) // too short
	require.EqualValues(t, 1, a.e.Stats().Failed)
	require.Equal(t, 1, a.e.Stats().EarlyNow, "what was announced can never come")
	p, err := a.e.Proc(card)
	require.NoError(t, err)
	assert.Equal(t, card, p.Card())
	require.ErrorIs(t, p.Err(), errclass.ProcFailed)
	in := room(1)
	_, err = a.scope(6, 0, []*core.Proc{a.all[0], p}).Recv(in, 1, 5)
	require.NoError(t, err, "it was whole")
	assert.Equal(t, []byte{99}, in.Mem)
	s.talk()
}

// An address in a process's card that belongs to another process is not used for the first one.
func TestAddressOfAnother(t *testing.T) {
	s := newStage(t)
	defer s.close()
	a := s.nodes[0]
	s.talk()
	ghost, err := a.e.Proc(core.Card{ID: core.ProcID{9}, Addresses: []string{"mem://b"}})
	require.NoError(t, err)
	other := a.scope(6, 0, []*core.Proc{a.all[0], ghost})
	r, err := other.Isend(core.Standard, mem(8, 1), 1, 7)
	if err == nil {
		_, _, err = r.Test()
	}
	require.ErrorIs(t, err, errclass.ProcFailed)
	require.ErrorContains(t, err, "address")
	s.talk()
}

// A process that sends requests and does not read the answers takes no room from the packets of
// others.
func TestUnreadAnswers(t *testing.T) {
	s := newStage(t)
	defer s.close()
	s.say(wire.KindHello, s.hello().Append(nil))
	rts := wire.RTS{ID: 1, Bits: wire.MakeBits(2, 2, 5), Size: 5000}.Append(nil)
	cancel := wire.Cancel{ID: 1}.Append(nil)
	for i := range 8000 {
		_, err := s.ctx.PostSendUnexpected(s.addr, 0, bmi.Tag(wire.KindRTS), rts, nil)
		require.NoError(t, err)
		_, err = s.ctx.PostSendUnexpected(s.addr, 0, bmi.Tag(wire.KindCancel), cancel, nil)
		require.NoError(t, err)
		if i%100 == 0 {
			s.step()
		}
	}
	s.step()
	require.Zero(t, s.nodes[0].e.Stats().EarlyNow)
	s.talk()
	require.NoError(t, s.nodes[0].all[2].Err())
	// It reads after all, and finds all answers.
	var out [16]bmi.Unexpected
	for found := 0; found < 8001; s.step() {
		n, err := s.mean.TestUnexpected(out[:], 0)
		require.NoError(t, err)
		require.NotZero(t, n, "after %d", found)
		for _, u := range out[:n] {
			u.Release()
		}
		found += n
	}
}

// A process with two connections sends BYE on both. Packets that it sent on one before may arrive
// after the BYE on the other.
func TestByeDoesNotOvertakeOnAnotherConnection(t *testing.T) {
	for name, end := range map[string]func(s *stage){
		"BYE":                   func(s *stage) { s.say(wire.KindBye, wire.Bye{}.Append(nil)) },
		"end of the connection": func(s *stage) { s.hangUp(s.mean) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			defer s.close()
			a := s.nodes[0]
			ssend, err := a.s.Isend(core.Synchronous, mem(10, 1), 2, 1) // connects
			require.NoError(t, err)
			s.say(wire.KindHello, s.hello().Append(nil))
			other := s.open("mean-too")
			defer s.hangUp(other)
			ctx, err := other.OpenContext()
			require.NoError(t, err)
			addr, err := other.Lookup("mem://a")
			require.NoError(t, err)
			for _, p := range []struct {
				kind wire.Kind
				b    []byte
			}{{wire.KindHello, s.hello().Append(nil)}, {wire.KindBye, wire.Bye{}.Append(nil)}} {
				_, err = ctx.PostSendUnexpected(addr, 0, bmi.Tag(p.kind), p.b, nil)
				require.NoError(t, err)
				s.step()
			}
			_, ok, err := ssend.Test()
			require.NoError(t, err)
			require.False(t, ok, "the ACK is still to come")
			s.say(wire.KindAck, wire.Ack{ID: 1 << 20}.Append(nil)) // the first id
			_, ok, err = ssend.Test()
			require.NoError(t, err)
			require.True(t, ok)
			r, err := a.s.Irecv(room(1), 2, 9)
			require.NoError(t, err)
			end(s)
			s.step()
			_, ok, err = r.Test()
			require.True(t, ok, "it has left")
			require.ErrorContains(t, err, "finalized")
			require.NoError(t, a.all[2].Err(), "in good order")
			s.talk()
		})
	}
}

// FuzzHostileProcess lets a process send random packets while two others communicate.
func FuzzHostileProcess(f *testing.F) {
	add := func(packets ...[]byte) {
		var all []byte
		for _, p := range packets {
			all = append(append(all, byte(len(p))), p...)
		}
		f.Add(all)
	}
	packet := func(kind wire.Kind, b []byte) []byte { return append([]byte{byte(kind)}, b...) }
	bits := wire.MakeBits(2, 2, 5)
	add(packet(wire.KindEager, append(wire.Eager{Bits: bits, ID: 3}.Append(nil), 1, 2)), packet(wire.KindCancel, wire.Cancel{ID: 3}.Append(nil)))
	add(packet(wire.KindRTS, wire.RTS{Bits: bits, ID: 3, Size: 5000}.Append(nil)), packet(wire.KindBye, wire.Bye{}.Append(nil)))
	add(packet(wire.KindCTS, wire.CTS{ID: 1 << 20, Granted: 300, Piece: 600, Tag: 4}.Append(nil)), packet(wire.KindRevoke, wire.Revoke{Context: 2}.Append(nil)))
	add(packet(wire.KindAck, wire.Ack{ID: 1<<20 | 1}.Append(nil)), packet(wire.KindCancelled, wire.Cancelled{ID: 1 << 20, Done: true}.Append(nil)))
	add(packet(wire.KindCall, append(wire.Call{ID: 1, Context: 2, Rank: 2}.Append(nil), 1)), packet(wire.KindReturn, wire.Return{ID: 1}.Append(nil)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newStage(t)
		defer s.close()
		a := s.nodes[0]
		s.say(wire.KindHello, s.hello().Append(nil))
		other := a.scope(4, 0, a.all)
		a.s.Serve(&echo{})
		var rs []core.Request
		post := func(r core.Request, err error) {
			if err != nil {
				require.True(t, errors.Is(err, errclass.ProcFailed) || errors.Is(err, errclass.Revoked), "%v", err)
			}
			rs = append(rs, r)
		}
		post(a.s.Irecv(room(1000), core.AnySource, 5))
		post(a.s.Irecv(room(10), 2, core.AnyTag))
		post(a.s.Isend(core.Standard, mem(100_000, 1), 2, 1))
		post(a.s.Isend(core.Synchronous, mem(10, 1), 2, 1))
		post(a.s.Call(2, false, 0, &sayings{calls: 3}))
		for range 64 {
			if len(data) < 2 {
				break
			}
			n := min(int(data[0]), len(data)-2)
			s.say(wire.Kind(data[1]), data[2:2+n])
			if n >= 4 && data[1] == byte(wire.KindEager) {
				_, _ = s.ctx.PostSend(s.addr, bmi.Tag(binary.LittleEndian.Uint32(data[2:])), data[2:2+n], nil)
			}
			data = data[2+n:]
		}
		// All operations that wait for it end when it is gone, at the latest.
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.mean.Shutdown(ended)
		for range 50 {
			s.step()
		}
		for i, r := range rs {
			_, ok, _ := r.Test()
			if !ok && i == 0 && a.all[2].Err() == nil {
				continue // another process may still send it, unless the one that left was the only source
			}
			require.True(t, ok, "request %d waits for nobody", i)
		}
		s.nodes[1].s, a.s = s.nodes[1].scope(4, 1, s.nodes[1].all), other
		a.s.Acknowledge()
		s.nodes[1].s.Acknowledge()
		s.talk()
	})
}

// A message with another process's rank does not change the order of the receives that it matches.
func TestImposterKeepsTheOrder(t *testing.T) {
	for name, source := range map[string]int{"of a rank": 1, "of anybody": core.AnySource} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			defer s.close()
			a, b := s.nodes[0], s.nodes[1]
			a.s = a.scope(6, 0, a.all[:2]) // the hostile process is not a member
			b.s = b.scope(6, 1, b.all[:2])
			var rs []core.Request
			var ins []core.Buffer
			for i := range 4 {
				from := source
				if i == 2 {
					from = core.AnySource
				}
				in := room(1)
				r, err := a.s.Irecv(in, from, 5)
				require.NoError(t, err)
				rs, ins = append(rs, r), append(ins, in)
			}
			s.say(wire.KindHello, s.hello().Append(nil))
			s.say(wire.KindEager, append(wire.Eager{Bits: wire.MakeBits(6, 1, 5)}.Append(nil), 99))
			require.ErrorIs(t, a.all[2].Err(), errclass.ProcFailed)
			for i := range rs {
				_, err := b.s.Isend(core.Standard, core.Buffer{Mem: []byte{byte(i)}}, 0, 5)
				require.NoError(t, err)
			}
			s.step()
			for i, r := range rs {
				_, ok, err := r.Test()
				require.NoError(t, err)
				require.True(t, ok)
				assert.Equal(t, []byte{byte(i)}, ins[i].Mem)
			}
		})
	}
}

// A process that sends a piece that is too short is dropped: it may send no more.
func TestShortPieceIsABreach(t *testing.T) {
	s := newStage(t)
	defer s.close()
	a := s.nodes[0]
	r, err := a.s.Irecv(room(5000), 2, 5)
	require.NoError(t, err)
	s.say(wire.KindHello, s.hello().Append(nil))
	s.say(wire.KindRTS, wire.RTS{ID: 1, Bits: wire.MakeBits(2, 2, 5), Size: 5000, Piece: 512}.Append(nil))
	_, err = s.ctx.PostSend(s.addr, 1, make([]byte, 10), nil) // the first tag is 1
	require.NoError(t, err)
	s.step()
	_, ok, err := r.Test()
	require.True(t, ok, "it waits for pieces that nobody sends")
	require.ErrorIs(t, err, errclass.Intern)
	require.ErrorIs(t, a.all[2].Err(), errclass.ProcFailed)
	s.talk()
}
