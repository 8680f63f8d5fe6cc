package wire

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/golden"
)

func some() Head {
	return Head{Kind: KindSendUnexpected, Flags: FlagMessage, Class: 2, Tag: 3, Op: 0x1234567890, Peer: 4, Size: 5}
}

func TestVectors(t *testing.T) {
	pieces := AppendPiece(AppendPiece(nil, Piece{64, 4096}), Piece{1 << 20, 904})
	text := []byte("tcp://10.0.0.1:3334")
	with := func(h Head, rest []byte) []byte { return append(h.Append(nil), rest...) }
	golden.CheckVectors(t, "testdata/records.golden", []golden.Vector{
		{Name: "send", Bytes: with(Head{Kind: KindSend, Flags: FlagPieces, Tag: 7, Op: 1, Peer: 2, Size: 5000}, pieces)},
		{Name: "send_unexpected", Bytes: with(some(), []byte("hello"))},
		{Name: "recv", Bytes: with(Head{Kind: KindRecv, Tag: 7, Op: 3, Peer: 2, Size: 100}, nil)},
		{Name: "cancel", Bytes: with(Head{Kind: KindCancel, Op: 3}, nil)},
		{Name: "peer", Bytes: with(Head{Kind: KindPeer, Flags: FlagText, Peer: 2}, text)},
		{Name: "drop", Bytes: with(Head{Kind: KindDrop, Peer: 2}, nil)},
		{Name: "hold", Bytes: with(Head{Kind: KindHold}, nil)},
		{Name: "go_on", Bytes: with(Head{Kind: KindGoOn}, nil)},
		{Name: "done", Bytes: with(Head{Kind: KindDone, Flags: FlagMessage, Op: 3, Size: 5}, []byte("hello"))},
		{Name: "done_error", Bytes: with(Head{Kind: KindDone, Flags: FlagText, Status: StatusPeerFailed, Op: 1}, []byte("peer died"))},
		{Name: "arrived", Bytes: with(Head{Kind: KindArrived, Flags: FlagMessage, Class: 1, Tag: 8, Peer: 1<<63 | 1, Size: 2}, []byte("hi"))},
		{Name: "stranger", Bytes: with(Head{Kind: KindStranger, Flags: FlagText, Peer: 1<<63 | 1}, text)},
	})
}

func TestHead(t *testing.T) {
	want := some()
	b := append(want.Append([]byte("before")), "hello"...)[len("before"):]
	var got Head
	rest, err := got.Parse(b)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, "hello", string(rest))
	assert.Equal(t, "send unexpected op=0x1234567890 peer=4 tag=0x3 class=2 size=5", got.String())
	for n := range len(b) {
		_, err := got.Parse(b[:n])
		assert.ErrorIs(t, err, ErrInvalid, "%d bytes of it", n)
	}
	for name, change := range map[string]func(*Head){
		"no kind": func(h *Head) { h.Kind = 0 }, "kind": func(h *Head) { h.Kind = programEnd }, "kind of a plugin": func(h *Head) { h.Kind = pluginEnd },
		"flag": func(h *Head) { h.Flags = flagsEnd }, "flags": func(h *Head) { h.Flags = FlagMessage | FlagText }, "no flags": func(h *Head) { h.Flags = 0 },
		"status": func(h *Head) { h.Status = statusEnd }, "short": func(h *Head) { h.Size++ }, "long": func(h *Head) { h.Size-- },
		"size": func(h *Head) { h.Flags, h.Size = FlagPieces, math.MaxInt64+1 },
	} {
		h := some()
		change(&h)
		_, err := got.Parse(append(h.Append(nil), "hello"...))
		assert.ErrorIs(t, err, ErrInvalid, name)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		want.Put(b)
		_, _ = got.Parse(b)
	}))
}

func TestKinds(t *testing.T) {
	for k := range 256 {
		kind := Kind(k)
		known := kindNames[kind] != ""
		assert.Equal(t, known, kind.FromProgram() || kind.FromPlugin(), kind)
		assert.False(t, kind.FromProgram() && kind.FromPlugin())
	}
}

func TestPieces(t *testing.T) {
	b := AppendPiece(AppendPiece(nil, Piece{0, 10}), Piece{90, 10})
	got, err := ParsePieces(nil, b, 100, 20)
	require.NoError(t, err)
	assert.Equal(t, []Piece{{0, 10}, {90, 10}}, got)
	many := []byte(nil)
	for range PiecesMax + 1 {
		many = AppendPiece(many, Piece{0, 0})
	}
	for name, c := range map[string]struct {
		b           []byte
		arena, size uint64
	}{
		"none": {nil, 100, 0}, "half": {b[:24], 100, 10}, "behind the arena": {b, 99, 20}, "too long": {b, 100, 19}, "too short": {b, 100, 21},
		"many": {many, 100, 0}, "around": {AppendPiece(nil, Piece{math.MaxUint64, 2}), math.MaxUint64, 2}, "off": {AppendPiece(nil, Piece{101, 0}), 100, 0},
	} {
		_, err := ParsePieces(nil, c.b, c.arena, c.size)
		assert.ErrorIs(t, err, ErrInvalid, name)
	}
}

// TestStatus: every error keeps its identity and its text.
func TestStatus(t *testing.T) {
	for s, err := range statusErrors {
		if err == nil {
			continue
		}
		wrapped := fmt.Errorf("with a cause: %w", err)
		status := StatusOf(wrapped)
		assert.Equal(t, Status(s), status)
		there := status.Err(wrapped.Error())
		assert.ErrorIs(t, there, err)
		assert.Equal(t, wrapped.Error(), there.Error())
		assert.Equal(t, err.Error(), status.Err("").Error())
	}
	assert.Equal(t, StatusOK, StatusOf(nil))
	assert.NoError(t, StatusOK.Err("nothing"))
	other := StatusOf(errors.New("strange"))
	assert.Equal(t, StatusOther, other)
	assert.EqualError(t, other.Err("strange"), "strange")
	assert.NotErrorIs(t, other.Err("strange"), bmi.ErrInvalid)
	assert.Error(t, statusEnd.Err(""), "a status that nobody knows is an error all the same")
}

func FuzzRecord(f *testing.F) {
	for _, v := range golden.Load(f, "testdata/records.golden") {
		f.Add(v.Bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Head
		rest, err := h.Parse(b)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			return
		}
		require.Equal(t, b, append(h.Append(nil), rest...), "what was read is what was written")
		_ = h.String()
		if h.Flags == FlagPieces {
			pieces, err := ParsePieces(nil, rest, 1<<30, h.Size)
			if err == nil {
				total := uint64(0)
				for _, p := range pieces {
					total += p.Len
				}
				require.Equal(t, h.Size, total)
			}
		}
	})
}
