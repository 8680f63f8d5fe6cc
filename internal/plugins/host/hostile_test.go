package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/host"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// liar is a plugin played by a test.
type liar struct {
	*pair
	in  *ring.Reader
	out *ring.Writer
}

func newLiar(t testing.TB) *liar {
	p := newPair(t)
	p.method.Detach(errors.New("another comes"))
	in, out := p.attachRaw()
	return &liar{p, in, out}
}

// hears returns the next record of the program.
func (l *liar) hears() (h wire.Head, rest []byte) {
	record, ok, err := l.in.Next()
	require.NoError(l.t, err)
	require.True(l.t, ok)
	rest, err = h.Parse(record)
	require.NoError(l.t, err)
	return h, rest
}

// says writes a record, and makes the program read it.
func (l *liar) says(h wire.Head, rest []byte) {
	room, ok, err := l.out.Reserve(wire.HeadBytes + len(rest))
	require.NoError(l.t, err)
	require.True(l.t, ok)
	h.Put(room)
	copy(room[wire.HeadBytes:], rest)
	l.out.Commit()
	l.method.Poll()
}

const stranger = 1 << 63

// TestLies: each of these breaks a rule. No operation succeeds by it, and the plugin's records are
// not read any more.
func TestLies(t *testing.T) {
	done := func(h wire.Head, id uint64) wire.Head { h.Kind, h.Op = wire.KindDone, id; return h }
	for name, lie := range map[string]func(l *liar, recv, large, send uint64){
		"end of what is not": func(l *liar, _, _, _ uint64) { l.says(done(wire.Head{}, 77), nil) },
		"end of an earlier use": func(l *liar, recv, _, _ uint64) {
			l.says(done(wire.Head{}, recv+1<<32), nil)
		},
		"longer than the room": func(l *liar, recv, _, _ uint64) {
			l.says(done(wire.Head{Flags: wire.FlagMessage, Size: 101}, recv), make([]byte, 101))
		},
		"longer than what was told": func(l *liar, _, large, _ uint64) {
			l.says(done(wire.Head{Size: uint64(l.method.Info().MaxExpectedSize) + 1}, large), nil)
		},
		"without the message": func(l *liar, recv, _, _ uint64) { l.says(done(wire.Head{Size: 5}, recv), nil) },
		"a message of a send": func(l *liar, _, _, send uint64) {
			l.says(done(wire.Head{Flags: wire.FlagMessage, Size: 8}, send), make([]byte, 8))
		},
		"half of a send": func(l *liar, _, _, send uint64) { l.says(done(wire.Head{Size: 7}, send), nil) },
		"pieces": func(l *liar, _, large, _ uint64) {
			l.says(done(wire.Head{Flags: wire.FlagPieces}, large), make([]byte, 16))
		},
		"a failure of too much": func(l *liar, recv, _, _ uint64) {
			l.says(done(wire.Head{Status: wire.StatusOther, Size: 101}, recv), nil)
		},
		"a truncated send": func(l *liar, _, _, send uint64) {
			l.says(done(wire.Head{Status: wire.StatusTruncated, Size: 9}, send), nil)
		},
		"a program's record": func(l *liar, _, _, _ uint64) { l.says(wire.Head{Kind: wire.KindCancel}, nil) },
		"no record":          func(l *liar, _, _, _ uint64) { l.says(wire.Head{}, nil) },
		"a message of nobody": func(l *liar, _, _, _ uint64) {
			l.says(wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Peer: 9}, nil)
		},
		"a message of no peer": func(l *liar, _, _, _ uint64) { l.says(wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage}, nil) },
		"a message of a place": func(l *liar, _, _, _ uint64) {
			l.says(wire.Head{Kind: wire.KindArrived, Flags: wire.FlagPieces, Peer: 1}, make([]byte, 16))
		},
		"a long message": func(l *liar, _, _, _ uint64) {
			l.says(wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Peer: 1, Size: 16001}, make([]byte, 16001))
		},
		"a stranger with our id": func(l *liar, _, _, _ uint64) {
			l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: 2}, []byte("x://y"))
		},
		"a stranger without one": func(l *liar, _, _, _ uint64) {
			l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger}, []byte("x://y"))
		},
		"a stranger too soon": func(l *liar, _, _, _ uint64) {
			l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger + 2}, []byte("x://y"))
		},
		"nameless": func(l *liar, _, _, _ uint64) {
			l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger + 1}, nil)
		},
		"a name in a message": func(l *liar, _, _, _ uint64) {
			l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagMessage, Peer: stranger + 1, Size: 5}, []byte("x://y"))
		},
		"a long name": func(l *liar, _, _, _ uint64) {
			l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger + 1}, make([]byte, host.AddressMax+1))
		},
		"a name that moves the cursor": func(l *liar, _, _, _ uint64) {
			l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger + 1}, []byte("x://\x1b[2J"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLiar(t)
			recv, large, send := l.op(bmi.KindRecv, make([]byte, 100)), l.op(bmi.KindRecv, make([]byte, 1<<20)), l.op(bmi.KindSend, make([]byte, 8))
			var ids []uint64
			for _, op := range []*bmi.Op{recv, large, send} {
				l.post(op)
				h, _ := l.hears()
				if h.Kind == wire.KindPeer {
					h, _ = l.hears()
				}
				ids = append(ids, h.Op)
			}
			require.Zero(t, l.over)
			lie(l, ids[0], ids[1], ids[2])
			require.ErrorIs(t, l.broken, wire.ErrInvalid)
			require.ErrorContains(t, l.broken, "plugin mirror broke the rules")
			require.Zero(t, l.over)
			l.says(done(wire.Head{}, ids[0]), nil)
			require.Zero(t, l.over, "it is not listened to")
			gone := errors.New("it was killed")
			l.method.Detach(gone)
			require.Equal(t, 3, l.over)
			require.ErrorIs(t, l.err, gone)
			require.Zero(t, l.arena.Used(), "and its memory is there again")
		})
	}
}

// TestReceiveOfMoreThanAnyMessage: the copy of a receive is not larger than the largest message,
// even if its buffer is.
func TestReceiveOfMoreThanAnyMessage(t *testing.T) {
	l := newLiar(t)
	buf := make([]byte, 4*pairArena)
	l.post(l.op(bmi.KindRecv, buf))
	_, _ = l.hears() // the peer's record
	h, _ := l.hears()
	require.EqualValues(t, l.method.Info().MaxExpectedSize, h.Size)
	l.shared[pairArena/2] = 7 // in the half for copies of receives
	l.says(wire.Head{Kind: wire.KindDone, Op: h.Op, Size: 100}, nil)
	require.NoError(t, l.broken)
	require.Equal(t, 1, l.over)
	require.NoError(t, l.err)
	require.Equal(t, 100, l.sizes)
	require.EqualValues(t, 7, buf[0])
}

// TestTruncated: only a truncated message may be longer than its receive.
func TestTruncated(t *testing.T) {
	l := newLiar(t)
	l.post(l.op(bmi.KindRecv, make([]byte, 100)))
	_, _ = l.hears()
	h, _ := l.hears()
	l.says(wire.Head{Kind: wire.KindDone, Status: wire.StatusTruncated, Flags: wire.FlagText, Op: h.Op, Size: 5000}, []byte("cut\x1b[2J\xff"))
	require.NoError(t, l.broken)
	require.ErrorIs(t, l.err, bmi.ErrTruncated)
	require.EqualError(t, l.err, "cut?[2J?")
	require.Equal(t, 5000, l.sizes)
}

// TestAddressesOfResolve: the plugin's text for an address is checked.
func TestAddressesOfResolve(t *testing.T) {
	p := newPair(t)
	for _, text := range []string{"", strings.Repeat("x", host.AddressMax+1), strings.Repeat("x", pairRing), "x\ny", "\xff"} {
		a, err := p.method.Resolve(text)
		require.ErrorIs(t, err, bmi.ErrBadAddress, "%.10q", text)
		require.True(t, a.IsZero())
	}
}

// insists delivers messages of the first stranger that the endpoint does not accept, until none
// fits anywhere. It returns their number.
func (l *liar) insists() (said int) {
	for full := false; !full; {
		room, ok, err := l.out.Reserve(wire.HeadBytes + 16000)
		require.NoError(l.t, err)
		if full = !ok && !l.method.Poll(); !ok {
			continue
		}
		h := wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Peer: stranger + 1, Size: 16000}
		h.Put(room)
		l.out.Commit()
		said++
		require.Less(l.t, said, 1<<13, "without bound")
	}
	return said
}

// TestKeptMessagesAreBounded: if a plugin does not hold messages back, its records are not read
// until the endpoint accepts some.
func TestKeptMessagesAreBounded(t *testing.T) {
	l := newLiar(t)
	l.program.took = false
	l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger + 1}, []byte("x://y"))
	said := l.insists()
	h, _ := l.hears()
	require.Equal(t, wire.KindHold, h.Kind)
	l.program.took = true
	for l.method.Poll() {
	}
	require.NoError(t, l.broken)
	require.Equal(t, said, l.program.arrived, "none is lost")
	h, _ = l.hears()
	require.Equal(t, wire.KindGoOn, h.Kind)
}

// TestStrangersOfTheNextPlugin: each plugin counts its strangers from the start.
func TestStrangersOfTheNextPlugin(t *testing.T) {
	l := newLiar(t)
	for range 3 {
		for i := range uint64(2) {
			l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger + 1 + i}, []byte{'a' + byte(i)})
		}
		require.NoError(t, l.broken)
		l.says(wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Peer: stranger + 2, Size: 2}, []byte("hi"))
		require.Equal(t, "b", bmi.HostPeer(l.program.from).String())
		l.method.Detach(errors.New("it died"))
		l.in, l.out = l.attachRaw()
	}
	require.Equal(t, 3, l.program.arrived)
	l.says(wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Peer: stranger + 1, Size: 2}, []byte("hi"))
	require.ErrorIs(t, l.broken, wire.ErrInvalid, "this one has said of nobody")
}

// TestCloseEnds: of the plugin's last records only the ends of operations are delivered.
func TestCloseEnds(t *testing.T) {
	l := newLiar(t)
	l.post(l.op(bmi.KindRecv, make([]byte, 100)))
	l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger + 1}, []byte("x://y"))
	l.program.took = true
	l.closing = func() {
		for range 10 {
			room, ok, err := l.out.Reserve(wire.HeadBytes)
			require.NoError(t, err)
			require.True(t, ok)
			h := wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Peer: stranger + 1}
			h.Put(room)
			l.out.Commit()
		}
	}
	require.NoError(t, l.method.Close(t.Context()))
	require.Equal(t, 1, l.over)
	require.ErrorIs(t, l.err, bmi.ErrClosed)
	require.Zero(t, l.program.arrived, "nothing arrives at an endpoint that closed")
	require.False(t, l.method.Poll())
}

// TestTheSameAddressAgain: a client that has another's former port is another endpoint, as it is
// for the method. The earlier bmi.Addr keeps the old peer as long as that plugin lives.
func TestTheSameAddressAgain(t *testing.T) {
	l := newLiar(t)
	var from [2]bmi.Addr
	for i := range from {
		id := stranger + 1 + uint64(i)
		l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: id}, []byte("x://y"))
		l.says(wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Peer: id}, nil)
		require.NoError(t, l.broken)
		from[i] = l.program.from
	}
	require.NotEqual(t, from[0], from[1])
	send := func(to bmi.Addr) {
		op := l.op(bmi.KindSend, make([]byte, 8))
		op.Peer = bmi.HostPeer(to)
		l.post(op)
	}
	for i, a := range from {
		send(a)
		h, _ := l.hears()
		require.Equal(t, stranger+1+uint64(i), h.Peer)
	}
	again, err := l.method.Resolve("x://y")
	require.NoError(t, err)
	require.Equal(t, from[1], again)

	l.method.Detach(errors.New("it died"))
	require.Equal(t, 2, l.over)
	send(from[0])
	require.ErrorIs(t, l.err, bmi.ErrDropped, "no other plugin can find it")
	send(from[1])
	require.Equal(t, 3, l.over, "this one may be found")
	l.method.Drop(bmi.HostPeer(from[0]))
	again, err = l.method.Resolve("x://y")
	require.NoError(t, err)
	require.Equal(t, from[1], again)
}
