//go:build linux

package stream

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	pb "google.golang.org/protobuf/proto"

	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

const (
	testArena     = 1 << 10
	testRecordMax = 200
)

// Operations that are in the plugin under test.
const (
	opSend   = 1 + iota // 10 bytes
	opInline            // a receive of 100 bytes
	opArena             // a receive of 100 bytes at 200 and 50 at 400
)

func record(h wire.Head, rest string) []byte { return append(h.Append(nil), rest...) }

func asking(t testing.TB) *program {
	p := newProgram(make([]byte, testArena), testRecordMax)
	pieces := wire.AppendPiece(wire.AppendPiece(nil, wire.Piece{Off: 200, Len: 100}), wire.Piece{Off: 400, Len: 50})
	for _, b := range [][]byte{
		record(wire.Head{Kind: wire.KindSend, Flags: wire.FlagMessage, Op: opSend, Peer: 1, Size: 10}, "0123456789"),
		record(wire.Head{Kind: wire.KindRecv, Op: opInline, Peer: 1, Size: 100}, ""),
		record(wire.Head{Kind: wire.KindRecv, Flags: wire.FlagPieces, Op: opArena, Peer: 1, Size: 150}, string(pieces)),
	} {
		r, err := p.toPlugin(b)
		require.NoError(t, err)
		require.NotNil(t, r)
	}
	return p
}

// TestAsk: the plugin's record for each record of the ring.
func TestAsk(t *testing.T) {
	p := newProgram([]byte("0123456789"), testRecordMax)
	pieces := string(wire.AppendPiece(wire.AppendPiece(nil, wire.Piece{Off: 7, Len: 3}), wire.Piece{Off: 0, Len: 2}))
	for name, c := range map[string]struct {
		record []byte
		want   *proto.Record
	}{
		"send": {record(wire.Head{Kind: wire.KindSend, Flags: wire.FlagPieces, Tag: 7, Op: 1, Peer: 2, Size: 5}, pieces),
			&proto.Record{Kind: proto.Kind_SEND, Tag: 7, Op: 1, Peer: 2, Size: 5, Message: []byte("78901")}},
		"send unexpected": {record(wire.Head{Kind: wire.KindSendUnexpected, Flags: wire.FlagMessage, Class: 9, Op: 2, Peer: 2, Size: 2}, "hi"),
			&proto.Record{Kind: proto.Kind_SEND_UNEXPECTED, Class: 9, Op: 2, Peer: 2, Size: 2, Message: []byte("hi")}},
		"recv":   {record(wire.Head{Kind: wire.KindRecv, Flags: wire.FlagPieces, Op: 3, Peer: 2, Size: 5}, pieces), &proto.Record{Kind: proto.Kind_RECV, Op: 3, Peer: 2, Size: 5}},
		"cancel": {record(wire.Head{Kind: wire.KindCancel, Op: 99}, ""), nil},
		"peer":   {record(wire.Head{Kind: wire.KindPeer, Flags: wire.FlagText, Peer: 2}, "mem://\xffa"), &proto.Record{Kind: proto.Kind_PEER, Peer: 2, Text: "mem://\uFFFDa"}},
		"drop":   {record(wire.Head{Kind: wire.KindDrop, Peer: 2}, ""), &proto.Record{Kind: proto.Kind_DROP, Peer: 2}},
		"hold":   {record(wire.Head{Kind: wire.KindHold, Peer: 2}, ""), &proto.Record{Kind: proto.Kind_HOLD, Peer: 2}},
		"go on":  {record(wire.Head{Kind: wire.KindGoOn, Peer: 2}, ""), &proto.Record{Kind: proto.Kind_GO_ON, Peer: 2}},
	} {
		got, err := p.toPlugin(c.record)
		require.NoError(t, err, name)
		assert.True(t, pb.Equal(c.want, got), "%s: %v", name, got)
	}
	got, err := p.toPlugin(record(wire.Head{Kind: wire.KindCancel, Op: 3}, ""))
	require.NoError(t, err)
	assert.EqualValues(t, 3, got.Op, "it is under way")
	for name, b := range map[string][]byte{
		"nothing": nil, "of the plugin": record(wire.Head{Kind: wire.KindDone}, ""), "twice": record(wire.Head{Kind: wire.KindRecv, Op: 3}, ""),
		"send without a message": record(wire.Head{Kind: wire.KindSend, Op: 9}, ""), "recv with one": record(wire.Head{Kind: wire.KindRecv, Flags: wire.FlagMessage, Op: 9}, ""),
		"outside": record(wire.Head{Kind: wire.KindRecv, Flags: wire.FlagPieces, Op: 9, Size: 11}, string(wire.AppendPiece(nil, wire.Piece{Len: 11}))),
	} {
		_, err := p.toPlugin(b)
		assert.ErrorIs(t, err, wire.ErrInvalid, name)
	}
}

// TestHear: the ring's record for each record of the plugin.
func TestHear(t *testing.T) {
	p := asking(t)
	message := bytes.Repeat([]byte("x"), 120)
	for name, c := range map[string]struct {
		r    *proto.Record
		h    wire.Head
		rest string
	}{
		"sent":     {&proto.Record{Kind: proto.Kind_DONE, Op: opSend, Size: 10}, wire.Head{Kind: wire.KindDone, Op: opSend, Size: 10}, ""},
		"received": {&proto.Record{Kind: proto.Kind_DONE, Op: opInline, Size: 2, Message: []byte("hi")}, wire.Head{Kind: wire.KindDone, Flags: wire.FlagMessage, Op: opInline, Size: 2}, "hi"},
		"in arena": {&proto.Record{Kind: proto.Kind_DONE, Op: opArena, Size: 120, Message: message}, wire.Head{Kind: wire.KindDone, Op: opArena, Size: 120}, ""},
		"arrived":  {&proto.Record{Kind: proto.Kind_ARRIVED, Peer: 3, Class: 255, Tag: 4, Message: []byte("hi")}, wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Class: 255, Tag: 4, Peer: 3, Size: 2}, "hi"},
		"stranger": {&proto.Record{Kind: proto.Kind_STRANGER, Peer: strangerBit | 1, Text: "mem://a"}, wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: strangerBit | 1}, "mem://a"},
	} {
		h, rest, err := p.fromPlugin(c.r)
		require.NoError(t, err, name)
		assert.Equal(t, c.h, h, name)
		assert.Equal(t, c.rest, string(rest), name)
	}
	want := make([]byte, testArena)
	copy(want[200:300], message)
	copy(want[400:420], message)
	assert.Equal(t, want, p.arena, "the message is in its pieces, and nowhere else")

	h, _, err := asking(t).fromPlugin(&proto.Record{Kind: proto.Kind_DONE, Op: opArena, Message: message})
	require.NoError(t, err)
	assert.EqualValues(t, 120, h.Size, "nobody counted")
	_, _, err = asking(t).fromPlugin(&proto.Record{Kind: proto.Kind_DONE, Op: opInline, Message: message})
	require.ErrorIs(t, err, ErrProtocol, "nor is it more than asked for")

	h, rest, err := asking(t).fromPlugin(&proto.Record{Kind: proto.Kind_DONE, Op: opArena, Status: proto.Status_TRUNCATED, Size: 1000, Text: strings.Repeat("a", 5000), Message: message})
	require.NoError(t, err)
	assert.Equal(t, wire.Head{Kind: wire.KindDone, Flags: wire.FlagText, Status: wire.StatusTruncated, Op: opArena, Size: 1000}, h)
	assert.Len(t, rest, testRecordMax-wire.HeadBytes, "a text is cut")
}

// TestHostilePlugin: a record that breaks the rules is an error, and does not change the arena.
func TestHostilePlugin(t *testing.T) {
	long := make([]byte, testRecordMax)
	for name, r := range map[string]*proto.Record{
		"nothing": {}, "of a program": {Kind: proto.Kind_SEND}, "attach": {Kind: proto.Kind_ATTACH}, "kind": {Kind: 999}, "negative kind": {Kind: -189}, // 67 as a byte
		"unknown operation": {Kind: proto.Kind_DONE, Op: 9}, "status": {Kind: proto.Kind_DONE, Op: opSend, Status: 16}, "negative status": {Kind: proto.Kind_DONE, Op: opSend, Status: -256},
		"sent less": {Kind: proto.Kind_DONE, Op: opSend, Size: 9}, "size": {Kind: proto.Kind_DONE, Op: opSend, Status: 1, Size: math.MaxUint64},
		"without the message": {Kind: proto.Kind_DONE, Op: opInline, Size: 10}, "more than said": {Kind: proto.Kind_DONE, Op: opInline, Size: 1, Message: []byte("hi")},
		"more than asked": {Kind: proto.Kind_DONE, Op: opInline, Size: 101, Message: long[:101]}, "more than pieces": {Kind: proto.Kind_DONE, Op: opArena, Size: 151, Message: long[:151]},
		"long": {Kind: proto.Kind_ARRIVED, Message: long[wire.HeadBytes-1:]}, "arrived with another size": {Kind: proto.Kind_ARRIVED, Size: 3, Message: []byte("hi")},
		"class": {Kind: proto.Kind_ARRIVED, Class: 256}, "nameless": {Kind: proto.Kind_STRANGER, Peer: strangerBit | 1}, "id": {Kind: proto.Kind_STRANGER, Peer: 1, Text: "a"},
		"long name": {Kind: proto.Kind_STRANGER, Peer: strangerBit | 1, Text: strings.Repeat("a", AddressMax+1)},
	} {
		p := asking(t)
		_, _, err := p.fromPlugin(r)
		assert.ErrorIs(t, err, ErrProtocol, name)
		assert.Equal(t, make([]byte, testArena), p.arena, name)
	}
	p := asking(t)
	done := &proto.Record{Kind: proto.Kind_DONE, Op: opSend, Size: 10}
	_, _, err := p.fromPlugin(done)
	require.NoError(t, err)
	_, _, err = p.fromPlugin(done)
	require.ErrorIs(t, err, ErrProtocol, "an operation ends once")
}

// records cuts bytes into records: each with its length, a byte, before it.
func records(b []byte) (out []*proto.Record) {
	for len(b) > 0 {
		n := min(int(b[0]), len(b)-1)
		r := &proto.Record{}
		if pb.Unmarshal(b[1:1+n], r) == nil {
			out = append(out, r)
		}
		b = b[1+n:]
	}
	return out
}

func packed(t testing.TB, rs ...*proto.Record) (out []byte) {
	for _, r := range rs {
		b, err := pb.Marshal(r)
		require.NoError(t, err)
		out = append(append(out, byte(len(b))), b...)
	}
	return out
}

// FuzzPlugin: with any input from a plugin, the ring gets valid records, each operation ends once,
// and the arena changes only in the pieces of a receive.
func FuzzPlugin(f *testing.F) {
	f.Add(packed(f, &proto.Record{Kind: proto.Kind_DONE, Op: opSend, Size: 10}, &proto.Record{Kind: proto.Kind_DONE, Op: opInline, Size: 2, Message: []byte("hi")}))
	f.Add(packed(f, &proto.Record{Kind: proto.Kind_DONE, Op: opArena, Size: 2, Message: []byte("hi")}, &proto.Record{Kind: proto.Kind_DONE, Op: opArena, Status: 3, Text: "died"}))
	f.Add(packed(f, &proto.Record{Kind: proto.Kind_ARRIVED, Peer: 1, Message: []byte("hi")}, &proto.Record{Kind: proto.Kind_STRANGER, Peer: strangerBit | 1, Text: "mem://a"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := asking(t)
		ended := map[uint64]bool{}
		for _, r := range records(b) {
			h, rest, err := p.fromPlugin(r)
			if err != nil {
				require.ErrorIs(t, err, ErrProtocol)
				break
			}
			var got wire.Head
			_, err = got.Parse(record(h, string(rest)))
			if h.Kind != wire.KindStranger {
				require.LessOrEqual(t, wire.HeadBytes+len(rest), testRecordMax)
			}
			require.NoError(t, err)
			require.True(t, got.Kind.FromPlugin())
			if h.Kind == wire.KindDone {
				require.False(t, ended[h.Op], "operation %d ended twice", h.Op)
				ended[h.Op] = true
			}
		}
		clear(p.arena[200:300])
		clear(p.arena[400:450])
		require.Equal(t, make([]byte, testArena), p.arena)
	})
}
