//go:build linux

package stream

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
	"github.com/viaduct-hpc/viaduct/internal/plugins/guest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/segment"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// An engine is a plugin's translator; a test plays the engine.
type engine struct {
	*plugin
	t     testing.TB
	in    *ring.Reader
	arena []byte
}

func newEngine(t testing.TB, ringBytes, arenaBytes int) *engine {
	rings, fd, err := segment.CreateRings(ringBytes)
	require.NoError(t, err)
	require.NoError(t, unix.Close(fd))
	b, err := bell.New()
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, rings.Close())
		assert.NoError(t, b.Close())
	})
	w, err := ring.NewWriter(rings.ToPlugin)
	require.NoError(t, err)
	r, err := ring.NewReader(rings.ToPlugin)
	require.NoError(t, err)
	arena := make([]byte, arenaBytes)
	p, err := newPlugin(arena, outlet{w, func() {}, newEnding(b, nil)}, w.RecordMax()-wire.HeadBytes)
	require.NoError(t, err)
	return &engine{p, t, r, arena}
}

// heard is a record that the engine received.
type heard struct {
	wire.Head
	rest   string
	pieces []wire.Piece
}

// next returns the next record for the engine, if there is one. rest is the message, also if it
// lies in the arena.
func (e *engine) next() (h heard, ok bool) {
	b, ok, err := e.in.Next()
	require.NoError(e.t, err)
	if !ok {
		return h, false
	}
	rest, err := h.Parse(b)
	require.NoError(e.t, err)
	require.True(e.t, h.Kind.FromProgram(), h.Kind)
	h.rest = string(rest)
	if h.Flags == wire.FlagPieces {
		h.pieces, err = wire.ParsePieces(nil, rest, uint64(len(e.arena)), h.Size)
		require.NoError(e.t, err)
		require.Len(e.t, h.pieces, 1)
		h.rest = string(e.message(h))
	}
	return h, true
}

func (e *engine) message(h heard) []byte {
	return e.arena[h.pieces[0].Off:][:h.pieces[0].Len]
}

func (e *engine) must(kind wire.Kind, op uint64) heard {
	e.t.Helper()
	h, ok := e.next()
	require.True(e.t, ok, "want %v of %d", kind, op)
	require.Equal(e.t, kind, h.Kind)
	require.Equal(e.t, op, h.Op)
	return h
}

func (e *engine) nothing() {
	e.t.Helper()
	h, ok := e.next()
	require.False(e.t, ok, "%v", &h.Head)
}

// over ends an operation as the engine does, and returns the record for the program.
func (e *engine) over(h wire.Head, rest string) *proto.Record {
	e.t.Helper()
	h.Kind = wire.KindDone
	r, a, err := e.answer(record(h, rest))
	require.NoError(e.t, err)
	if a.mem != nil {
		r.Message = bytes.Clone(r.Message)
	}
	require.NoError(e.t, e.release(a))
	return r
}

func (e *engine) post(kind proto.Kind, op uint64, size int) {
	e.t.Helper()
	r := &proto.Record{Kind: kind, Op: op, Peer: op % 2, Size: uint64(size)}
	if kind != proto.Kind_RECV {
		r.Message = bytes.Repeat([]byte{byte(op)}, size)
	}
	require.NoError(e.t, e.take(r))
}

const large = 48 << 10 // of 64 KiB in each lane: only one fits at a time

// TestTake: small messages go through the rings, others lie in the arena.
func TestTake(t *testing.T) {
	e := newEngine(t, 64<<10, 128<<10)
	e.post(proto.Kind_SEND, 1, guest.InlineMax)
	h := e.must(wire.KindSend, 1)
	assert.Equal(t, wire.FlagMessage, h.Flags)
	assert.Equal(t, strings.Repeat("\x01", guest.InlineMax), h.rest)
	assert.EqualValues(t, guest.InlineMax, e.over(wire.Head{Op: 1, Size: guest.InlineMax}, "").Size)

	e.post(proto.Kind_SEND_UNEXPECTED, 2, guest.InlineMax+1)
	h = e.must(wire.KindSendUnexpected, 2)
	assert.Equal(t, strings.Repeat("\x02", guest.InlineMax+1), h.rest)

	e.post(proto.Kind_RECV, 3, guest.InlineMax)
	assert.Zero(t, e.must(wire.KindRecv, 3).Flags)
	assert.Equal(t, "hi", string(e.over(wire.Head{Flags: wire.FlagMessage, Op: 3, Size: 2}, "hi").Message))

	e.post(proto.Kind_RECV, 4, guest.InlineMax+1)
	h = e.must(wire.KindRecv, 4)
	copy(e.message(h), "in the arena")
	r := e.over(wire.Head{Op: 4, Size: 12}, "")
	assert.Equal(t, "in the arena", string(r.Message))
	assert.EqualValues(t, 12, r.Size)
	r = e.over(wire.Head{Op: 2, Flags: wire.FlagText, Status: wire.StatusPeerFailed}, "died \xff")
	assert.Equal(t, proto.Status_PEER_FAILED, r.Status)
	assert.Equal(t, "died \uFFFD", r.Text, "gRPC takes nothing else")

	for _, r := range []*proto.Record{{Kind: proto.Kind_PEER, Peer: 7, Text: "mem://a"}, {Kind: proto.Kind_HOLD, Peer: 7}, {Kind: proto.Kind_GO_ON, Peer: 7}, {Kind: proto.Kind_DROP, Peer: 7}} {
		require.NoError(t, e.take(r))
		h := e.must(wire.Kind(r.Kind), 0)
		assert.EqualValues(t, 7, h.Peer)
		assert.Equal(t, r.Text, h.rest)
	}
	require.NoError(t, e.take(&proto.Record{Kind: proto.Kind_CANCEL, Op: 4}))
	e.nothing() // it is over
	assert.Zero(t, e.sends.arena.Used()+e.recvs.arena.Used(), "all memory is back")
	assert.Empty(t, e.ops)
}

// TestWaiting: without memory operations wait in order; sends do not wait for receives, nor
// receives for sends.
func TestWaiting(t *testing.T) {
	e := newEngine(t, 64<<10, 128<<10)
	for op := range uint64(3) {
		e.post(proto.Kind_SEND, 10+op, large)
		e.post(proto.Kind_RECV, 20+op, large)
	}
	e.post(proto.Kind_SEND, 13, 1)
	e.must(wire.KindSend, 10)
	e.must(wire.KindRecv, 20)
	e.nothing()
	assert.Equal(t, 5*waitingBytes+2*large+1, e.waiting)
	e.over(wire.Head{Op: 20, Size: large}, "")
	e.must(wire.KindRecv, 21)
	e.nothing()
	e.over(wire.Head{Op: 10, Size: large}, "")
	h := e.must(wire.KindSend, 11)
	assert.Equal(t, strings.Repeat("\x0b", large), h.rest)
	e.nothing()
	e.over(wire.Head{Op: 11, Size: large}, "")
	e.must(wire.KindSend, 12)
	e.must(wire.KindSend, 13)
	e.over(wire.Head{Op: 21, Size: large}, "")
	e.must(wire.KindRecv, 22)
	e.nothing()
	assert.Zero(t, e.waiting)
}

// TestCancelOfWhatWaits: a waiting operation ends without the engine, and later ones go on.
func TestCancelOfWhatWaits(t *testing.T) {
	e := newEngine(t, 64<<10, 128<<10)
	e.post(proto.Kind_RECV, 1, large)
	e.post(proto.Kind_RECV, 2, large)
	e.post(proto.Kind_RECV, 3, guest.InlineMax)
	e.must(wire.KindRecv, 1)
	require.NoError(t, e.take(&proto.Record{Kind: proto.Kind_CANCEL, Op: 2}))
	e.must(wire.KindRecv, 3)
	e.nothing()
	ended := e.takeEnded()
	require.Len(t, ended, 1)
	assert.EqualValues(t, 2, ended[0].Op)
	assert.Equal(t, proto.Status_CANCELLED, ended[0].Status)
	require.NoError(t, e.take(&proto.Record{Kind: proto.Kind_CANCEL, Op: 1}))
	e.must(wire.KindCancel, 1)
	e.nothing()
	require.Empty(t, e.takeEnded())
	assert.Zero(t, e.waiting)
}

// TestDropOfWhatWaits: waiting operations of a dropped peer end, too.
func TestDropOfWhatWaits(t *testing.T) {
	e := newEngine(t, 64<<10, 128<<10)
	for op := range uint64(5) { // peers 0 and 1 in turn
		e.post(proto.Kind_SEND, op, large)
	}
	e.must(wire.KindSend, 0)
	require.NoError(t, e.take(&proto.Record{Kind: proto.Kind_DROP, Peer: 1}))
	e.must(wire.KindDrop, 0)
	ended := e.takeEnded()
	require.Len(t, ended, 2)
	for i, op := range []uint64{1, 3} {
		assert.Equal(t, op, ended[i].Op)
		assert.Equal(t, proto.Status_DROPPED, ended[i].Status)
	}
	e.over(wire.Head{Op: 0, Size: large}, "")
	e.must(wire.KindSend, 2)
	e.nothing()
}

// TestTooLarge: an operation that can never have memory ends at once.
func TestTooLarge(t *testing.T) {
	e := newEngine(t, 64<<10, 128<<10)
	e.post(proto.Kind_SEND, 1, 64<<10)
	e.must(wire.KindSend, 1)
	e.post(proto.Kind_SEND, 2, 64<<10+1)
	e.post(proto.Kind_RECV, 3, 64<<10+1)
	e.nothing()
	ended := e.takeEnded()
	require.Len(t, ended, 2)
	for _, r := range ended {
		assert.Equal(t, proto.Status_TOO_LARGE, r.Status)
		assert.Contains(t, r.Text, "65537")
	}
}

// TestCrowded: the stream is not read while too many bytes wait.
func TestCrowded(t *testing.T) {
	e := newEngine(t, 64<<10, 32<<20)
	for op := range uint64(8) {
		require.NoError(t, e.uncrowded())
		e.post(proto.Kind_SEND, op, 10<<20) // one of them is in the arena, the others wait
	}
	e.must(wire.KindSend, 0)
	require.Greater(t, e.waiting, waitingBytesMax)
	read := make(chan error)
	go func() { read <- e.uncrowded() }()
	e.over(wire.Head{Op: 0, Size: 10 << 20}, "")
	require.NoError(t, <-read)

	e.post(proto.Kind_SEND, 8, 10<<20)
	go func() { read <- e.uncrowded() }()
	e.plugin.over.end(errFinished)
	require.ErrorIs(t, <-read, errFinished, "nor for ever")
}

// TestHostileProgram: a record that breaks the rules is an error, and does not reach the engine.
func TestHostileProgram(t *testing.T) {
	for name, r := range map[string]*proto.Record{
		"nothing": {}, "of a plugin": {Kind: proto.Kind_DONE}, "attach again": {Kind: proto.Kind_ATTACH}, "kind": {Kind: 257}, "negative": {Kind: -255},
		"twice": {Kind: proto.Kind_SEND, Op: 1}, "another size": {Kind: proto.Kind_SEND, Op: 2, Size: 3, Message: []byte("hi")},
		"class": {Kind: proto.Kind_SEND_UNEXPECTED, Op: 2, Class: 256}, "size": {Kind: proto.Kind_RECV, Op: 2, Size: math.MaxUint64},
		"id": {Kind: proto.Kind_PEER, Peer: strangerBit | 1, Text: "a"}, "long name": {Kind: proto.Kind_PEER, Peer: 1, Text: strings.Repeat("a", AddressMax+1)},
	} {
		e := newEngine(t, 64<<10, 128<<10)
		e.post(proto.Kind_RECV, 1, 1)
		e.must(wire.KindRecv, 1)
		assert.ErrorIs(t, e.take(r), ErrProtocol, name)
		e.nothing()
	}
}

// TestEngineOutOfStep: an engine that breaks the rules is an error.
func TestEngineOutOfStep(t *testing.T) {
	e := newEngine(t, 64<<10, 128<<10)
	e.post(proto.Kind_RECV, 1, large)
	e.post(proto.Kind_RECV, 2, large)
	for name, b := range map[string][]byte{
		"nothing": nil, "of a program": record(wire.Head{Kind: wire.KindSend, Flags: wire.FlagMessage}, ""), "unknown": record(wire.Head{Kind: wire.KindDone, Op: 9}, ""),
		"waits": record(wire.Head{Kind: wire.KindDone, Op: 2}, ""), "too much": record(wire.Head{Kind: wire.KindDone, Op: 1, Size: large + 1}, ""),
	} {
		_, _, err := e.answer(b)
		assert.ErrorIs(t, err, wire.ErrInvalid, name)
	}
}

// FuzzProgram: with any input from a program, the engine gets valid records, messages do not
// overlap in the arena, and each operation ends once.
func FuzzProgram(f *testing.F) {
	f.Add(packed(f, &proto.Record{Kind: proto.Kind_SEND, Op: 1, Message: []byte("hi")}, &proto.Record{Kind: proto.Kind_CANCEL, Op: 1}), uint8(1))
	f.Add(packed(f, &proto.Record{Kind: proto.Kind_RECV, Op: 1, Size: large}, &proto.Record{Kind: proto.Kind_RECV, Op: 2, Size: large}, &proto.Record{Kind: proto.Kind_RECV, Op: 3, Size: 1}), uint8(5))
	f.Add(packed(f, &proto.Record{Kind: proto.Kind_RECV, Op: 1, Size: large}, &proto.Record{Kind: proto.Kind_RECV, Op: 2, Size: 20000}, &proto.Record{Kind: proto.Kind_CANCEL, Op: 2}, &proto.Record{Kind: proto.Kind_DROP}), uint8(4))
	f.Add(packed(f, &proto.Record{Kind: proto.Kind_PEER, Peer: 1, Text: "mem://a"}, &proto.Record{Kind: proto.Kind_HOLD, Peer: 1}), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, pace uint8) {
		e := newEngine(t, 1<<20, 128<<10)
		has := map[uint64]heard{} // operations of the engine
		listen := func() {
			for h, ok := e.next(); ok; h, ok = e.next() {
				if h.Kind > wire.KindRecv {
					continue
				}
				require.NotContains(t, has, h.Op)
				for _, other := range has {
					for _, p := range h.pieces {
						for _, q := range other.pieces {
							require.True(t, p.Off+p.Len <= q.Off || q.Off+q.Len <= p.Off, "%v and %v overlap", p, q)
						}
					}
				}
				has[h.Op] = h
			}
		}
		end := func() {
			for op := range has {
				r := e.over(wire.Head{Op: op}, "")
				require.Equal(t, op, r.Op)
				delete(has, op)
				return
			}
		}
		for i, r := range records(b) {
			if err := e.take(r); err != nil {
				require.ErrorIs(t, err, ErrProtocol)
				break
			}
			listen()
			if i%int(pace/16+1) == 0 {
				end()
				listen()
			}
		}
		for len(has) > 0 {
			end()
			listen()
		}
		require.Empty(t, e.ops, "nothing waits when nothing is under way")
		e.takeEnded()
		require.Zero(t, e.waiting)
		require.Zero(t, e.sends.arena.Used()+e.recvs.arena.Used())
	})
}
