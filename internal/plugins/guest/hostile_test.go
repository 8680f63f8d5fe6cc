//go:build linux

package guest_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/guest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// zeroed is memory at a multiple of a page.
func zeroed(t testing.TB, bytes int) []byte {
	mem, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(mem)) })
	return mem
}

// liar is a program played by a test, with an Engine that runs the in-memory method.
type liar struct {
	t      testing.TB
	engine *guest.Engine
	there  []byte // the memory of the ring to the plugin
	back   []byte // and of the other one
	out    *ring.Writer
	in     *ring.Reader
	arena  []byte
	ended  bool
}

const liarRing, liarArena = 64 << 10, 64 << 10

// newLiar opens the in-memory method in a world of its own, under the name "self".
func newLiar(t testing.TB) *liar {
	l := &liar{t: t, there: zeroed(t, ring.Bytes(liarRing)), back: zeroed(t, ring.Bytes(liarRing)), arena: zeroed(t, liarArena)}
	var err error
	l.out, err = ring.NewWriter(l.there)
	require.NoError(t, err)
	l.in, err = ring.NewReader(l.back)
	require.NoError(t, err)
	c := guest.Config{Arena: l.arena, Bell: func() {}, Wake: func() {}}
	c.In, err = ring.NewReader(l.there)
	require.NoError(t, err)
	c.Out, err = ring.NewWriter(l.back)
	require.NoError(t, err)
	l.engine = guest.New(c)
	all := bmi.Drivers()
	driver := all[slices.IndexFunc(all, func(d bmi.Driver) bool { return d.Name() == bmitest.Name })]
	m, err := driver.Open(context.Background(), bmi.MethodConfig{
		Host: l.engine.Host(), Listen: []string{"mem://self"}, Log: slog.New(slog.DiscardHandler),
		Options: bmitest.Options{Network: bmitest.NewNetwork(), MaxExpectedSize: 32 << 10, MaxUnexpectedSize: 8 << 10, MaxPieces: 4, NoClasses: true},
	})
	require.NoError(t, err)
	l.engine.Start(m)
	t.Cleanup(l.end)
	return l
}

// end closes the engine.
func (l *liar) end() {
	if !l.ended {
		l.ended = true
		require.NoError(l.t, l.engine.Close(context.Background()))
	}
}

// says writes a record.
func (l *liar) says(h wire.Head, rest []byte) bool {
	room, ok, err := l.out.Reserve(wire.HeadBytes + len(rest))
	require.NoError(l.t, err)
	if ok {
		h.Put(room)
		copy(room[wire.HeadBytes:], rest)
		l.out.Commit()
	}
	return ok
}

// turn writes a record and runs a turn of the engine.
func (l *liar) turn(h wire.Head, rest []byte) error {
	require.True(l.t, l.says(h, rest))
	_, err := l.engine.Turn()
	return err
}

// hears returns the next record of the plugin.
func (l *liar) hears() (h wire.Head, rest []byte) {
	record, ok, err := l.in.Next()
	require.NoError(l.t, err)
	require.True(l.t, ok, "the plugin says nothing")
	rest, err = h.Parse(record)
	require.NoError(l.t, err)
	return h, rest
}

func (l *liar) peer(id uint64, text string) {
	require.NoError(l.t, l.turn(wire.Head{Kind: wire.KindPeer, Flags: wire.FlagText, Peer: id}, []byte(text)))
}

func pieces(all ...wire.Piece) (b []byte) {
	for _, p := range all {
		b = wire.AppendPiece(b, p)
	}
	return b
}

// TestLies: each of these breaks a rule and ends the Engine.
func TestLies(t *testing.T) {
	recv := func(op uint64) wire.Head { return wire.Head{Kind: wire.KindRecv, Op: op, Peer: 1, Size: 8} }
	for name, c := range map[string]struct {
		h    wire.Head
		rest []byte
		says string
	}{
		"no record":                {wire.Head{}, nil, "kind 0"},
		"a plugin's record":        {wire.Head{Kind: wire.KindDone}, nil, "done is for the program"},
		"an operation twice":       {recv(5), nil, "operation 0x5"},
		"a slot twice":             {recv(1<<32 | 5), nil, "while 0x5 is under way"},
		"too many operations":      {recv(guest.OpsMax), nil, "lower half"},
		"the last operation":       {recv(1<<32 - 1), nil, "lower half"},
		"a long receive":           {wire.Head{Kind: wire.KindRecv, Peer: 1, Size: guest.InlineMax + 1}, nil, "without pieces"},
		"an endless receive":       {wire.Head{Kind: wire.KindRecv, Peer: 1, Size: 1<<63 - 1}, nil, "without pieces"},
		"a long send":              {wire.Head{Kind: wire.KindSend, Flags: wire.FlagMessage, Peer: 1, Size: guest.InlineMax + 1}, make([]byte, guest.InlineMax+1), "without pieces"},
		"a send of nothing":        {wire.Head{Kind: wire.KindSend, Peer: 1}, nil, "flags 0x0"},
		"a receive with a message": {wire.Head{Kind: wire.KindRecv, Flags: wire.FlagMessage, Peer: 1, Size: 1}, make([]byte, 1), "flags 0x1"},
		"a text to send":           {wire.Head{Kind: wire.KindSend, Flags: wire.FlagText, Peer: 1, Size: 1}, make([]byte, 1), "flags 0x4"},
		"outside the arena":        {wire.Head{Kind: wire.KindSend, Flags: wire.FlagPieces, Peer: 1, Size: 2}, pieces(wire.Piece{Off: liarArena - 1, Len: 2}), "arena"},
		"around the arena":         {wire.Head{Kind: wire.KindSend, Flags: wire.FlagPieces, Peer: 1, Size: 2}, pieces(wire.Piece{Off: 1<<64 - 1, Len: 2}), "arena"},
		"no pieces":                {wire.Head{Kind: wire.KindSend, Flags: wire.FlagPieces, Peer: 1}, nil, "pieces"},
		"a peer twice":             {wire.Head{Kind: wire.KindPeer, Flags: wire.FlagText, Peer: 1}, []byte("mem://x"), "is taken"},
		"the peer 0":               {wire.Head{Kind: wire.KindPeer, Flags: wire.FlagText}, []byte("mem://x"), "not for the program"},
		"a stranger":               {wire.Head{Kind: wire.KindPeer, Flags: wire.FlagText, Peer: 1<<63 | 1}, []byte("mem://x"), "not for the program"},
		"a peer without address":   {wire.Head{Kind: wire.KindPeer, Peer: 2}, nil, "flags 0x0"},
		"a long address":           {wire.Head{Kind: wire.KindPeer, Flags: wire.FlagText, Peer: 2}, make([]byte, wire.AddressMax+1), "4097 bytes"},
		"drop of an unknown id":    {wire.Head{Kind: wire.KindDrop, Peer: 2}, nil, "unknown id"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLiar(t)
			l.peer(1, "mem://self")
			require.NoError(t, l.turn(recv(5), nil))
			err := l.turn(c.h, c.rest)
			require.ErrorIs(t, err, guest.ErrProgram)
			require.ErrorContains(t, err, c.says)
			again := l.turn(wire.Head{Kind: wire.KindCancel, Op: 5}, nil)
			require.Equal(t, err, again, "that is the end")
			_, ok, _ := l.in.Next()
			require.False(t, ok)
		})
	}
}

// TestRefusals: these break no rule of the rings, but methods rely on not getting them: the
// operation ends, and nothing else is affected.
func TestRefusals(t *testing.T) {
	four := wire.Piece{Len: 4}
	for name, c := range map[string]struct {
		h    wire.Head
		rest []byte
		want error
	}{
		"no peer":        {wire.Head{Kind: wire.KindRecv, Peer: 9, Size: 8}, nil, bmi.ErrInvalid},
		"dropped":        {wire.Head{Kind: wire.KindRecv, Peer: 3, Size: 8}, nil, bmi.ErrDropped},
		"no address":     {wire.Head{Kind: wire.KindRecv, Peer: 4, Size: 8}, nil, bmi.ErrBadAddress},
		"large":          {wire.Head{Kind: wire.KindSend, Flags: wire.FlagPieces, Peer: 1, Size: 32<<10 + 1}, pieces(wire.Piece{Len: 32<<10 + 1}), bmi.ErrTooLarge},
		"unexpected":     {wire.Head{Kind: wire.KindSendUnexpected, Flags: wire.FlagPieces, Peer: 1, Size: 8<<10 + 1}, pieces(wire.Piece{Len: 8<<10 + 1}), bmi.ErrTooLarge},
		"class":          {wire.Head{Kind: wire.KindSendUnexpected, Flags: wire.FlagMessage, Class: 1, Peer: 1}, nil, bmi.ErrNotSupported},
		"too many parts": {wire.Head{Kind: wire.KindSend, Flags: wire.FlagPieces, Peer: 1, Size: 20}, pieces(four, four, four, four, four), bmi.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLiar(t)
			l.peer(1, "mem://self")
			l.peer(2, "mem://other")
			l.peer(3, "mem://other") // the same, under another name
			require.NoError(t, l.turn(wire.Head{Kind: wire.KindDrop, Peer: 2}, nil))
			l.peer(4, "nonsense")
			c.h.Op = 7
			require.NoError(t, l.turn(c.h, c.rest))
			h, text := l.hears()
			require.Equal(t, wire.KindDone, h.Kind)
			require.EqualValues(t, 7, h.Op)
			require.ErrorIs(t, h.Status.Err(string(text)), c.want)
			require.NoError(t, l.turn(wire.Head{Kind: wire.KindDrop, Peer: 3}, nil), "dropped with the other, but its id is taken back, too")
		})
	}
}

// TestCancelOfWhatIsOver: the method has completed an operation, but there was no room to tell the
// program. The method must not get its cancel.
func TestCancelOfWhatIsOver(t *testing.T) {
	l := newLiar(t)
	n := uint64(0)
	for l.engine.Quiet() { // of an unknown peer: each ends at once, and the program reads nothing
		require.True(t, l.says(wire.Head{Kind: wire.KindRecv, Op: n, Peer: 9, Size: 8}, nil))
		n++
		_, err := l.engine.Turn()
		require.NoError(t, err)
	}
	for i := range n {
		require.NoError(t, l.turn(wire.Head{Kind: wire.KindCancel, Op: i}, nil))
	}
	seen := make(map[uint64]bool)
	for len(seen) < int(n) {
		h, _ := l.hears()
		require.False(t, seen[h.Op], "twice")
		seen[h.Op] = true
		_, err := l.engine.Turn()
		require.NoError(t, err)
	}
	require.True(t, l.engine.Quiet())
}

// TestShortRings: rings that are too small are an error, and no later panic.
func TestShortRings(t *testing.T) {
	mem := zeroed(t, ring.Bytes(ring.DataMin))
	in, err := ring.NewReader(mem)
	require.NoError(t, err)
	out, err := ring.NewWriter(mem)
	require.NoError(t, err)
	_, err = guest.New(guest.Config{In: in, Out: out}).Turn()
	require.ErrorIs(t, err, guest.ErrProgram)
	require.ErrorContains(t, err, "a ring with records of 1016 bytes")
}

// TestTooLongToArrive: a message that does not fit in the ring is counted. It neither blocks its
// sender for ever nor causes a panic.
func TestTooLongToArrive(t *testing.T) {
	l := newLiar(t)
	h := l.engine.Host()
	from := h.NewAddr(anybody{})
	require.Equal(t, liarRing/4-ring.WordBytes-wire.HeadBytes, l.engine.MaxUnexpected())
	require.True(t, h.Arrived(from, 0, 0, make([]byte, l.engine.MaxUnexpected()+1)))
	require.EqualValues(t, 1, l.engine.Lost())
	_, ok, err := l.in.Next()
	require.NoError(t, err)
	require.False(t, ok)
	require.True(t, h.Arrived(from, 0, 0, make([]byte, l.engine.MaxUnexpected())))
	got, _ := l.hears()
	require.Equal(t, wire.KindStranger, got.Kind)
	_, rest := l.hears()
	require.Len(t, rest, l.engine.MaxUnexpected())
}

// FuzzHostileProgram: a program may write anything to the ring and the other shared memory. The
// Engine continues, or ends with an error that names the broken rule, and can be closed. The data
// is a list of commands for play.
func FuzzHostileProgram(f *testing.F) {
	// A peer, a receive and a send to it, unexpected ones, a cancel, a drop.
	f.Add([]byte{0, 5, 1, 0, 0, 10, 0, 3, 1, 5, 8, 0, 0, 1, 1, 6, 8, 8, 0, 2, 1, 7, 8, 8, 20, 21, 0, 4, 0, 5, 0, 0, 0, 6, 1, 0, 0, 0})
	f.Add([]byte{0, 5, 1, 0, 0, 10, 0, 1, 1, 1, 0x40, 16, 22, 0, 3, 1, 2, 0x40, 16})
	f.Add([]byte{23, 0, 5, 1, 0, 0, 10, 24, 0, 1, 1, 1, 1, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newLiar(t)
		err := l.play(data)
		if err != nil {
			require.ErrorIs(t, err, guest.ErrProgram)
			require.NotEqual(t, guest.ErrProgram.Error(), err.Error(), "which rule")
		}
		l.end()
	})
}

// play runs the commands until the Engine has ended.
func (l *liar) play(data []byte) error {
	next := func() (v byte) {
		if len(data) > 0 {
			v, data = data[0], data[1:]
		}
		return v
	}
	for len(data) > 0 {
		switch next() % 32 {
		case 20: // the plugin makes progress
			if _, err := l.engine.Turn(); err != nil {
				return err
			}
		case 21: // the program reads
			if _, _, err := l.in.Next(); err != nil {
				return nil // it damaged its own ring
			}
		case 22: // the arena changes
			l.arena[int(next())<<8|int(next())] = next()
		case 23: // a word in the ring to the plugin
			at := ring.HeaderBytes + int(next())*ring.Line
			binary.LittleEndian.PutUint64(l.there[at:], uint64(next())|uint64(next())<<8|uint64(next())<<32)
		case 24: // the program's position, and that it sleeps
			l.back[next()%16] = next()
		default:
			l.record(next)
		}
	}
	for range 4 {
		if _, err := l.engine.Turn(); err != nil {
			return err
		}
	}
	return nil
}

// record writes a record that is mostly valid.
func (l *liar) record(next func() byte) {
	h := wire.Head{Kind: wire.Kind(next() % 12), Peer: uint64(next()), Op: uint64(next())}
	shape, size := next(), next()
	var rest []byte
	switch h.Size = uint64(size); {
	case h.Kind == wire.KindPeer:
		h.Flags, rest = wire.FlagText, []byte([]string{"mem://self", "mem://other", "", "nonsense"}[shape%4])
	case shape&0x40 != 0:
		h.Flags, rest = wire.FlagPieces, pieces(wire.Piece{Off: uint64(shape&0x3f) << 10, Len: uint64(size)})
	case h.Kind == wire.KindSend || h.Kind == wire.KindSendUnexpected:
		h.Flags, rest = wire.FlagMessage, make([]byte, size)
	}
	if shape&0x80 != 0 { // and an unknown kind
		h.Size <<= shape & 0x3f
		h.Op <<= shape & 0x3f
		h.Peer |= uint64(shape&1) << 63
		h.Status, h.Class, h.Tag = wire.Status(size), size, uint32(shape)
	}
	room, ok, err := l.out.Reserve(wire.HeadBytes + len(rest))
	if ok && err == nil {
		h.Put(room)
		copy(room[wire.HeadBytes:], rest)
		l.out.Commit()
	}
}
