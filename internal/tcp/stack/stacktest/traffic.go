package stacktest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

var trafficTests = []test{
	{"bytes arrive in order", func(t T, w *world) {
		a, b := w.pair()
		w.moves(a, b, 1<<20)
		w.moves(b, a, 1<<20)
	}},
	{"one byte at a time", func(t T, w *world) {
		a, b := w.pair()
		w.movesCut(a, b, 2000, pieces{1, 1}, pieces{1, 1})
	}},
	{"pieces of every size", pieceSizes},
	{"more pieces than one call uses", func(t T, w *world) {
		a, b := w.pair()
		w.movesCut(a, b, 100_000, pieces{stack.PiecesMax * 3, 100}, pieces{stack.PiecesMax * 2, 90})
	}},
	{"empty pieces", emptyPieces},
	{"both directions at once", func(t T, w *world) {
		a, b := w.pair()
		ab, ba := newFlow(a, b, 3<<20), newFlow(b, a, 2<<20)
		w.until("all bytes moved", func() bool {
			ab.move(pieces{2, 70_000}, pieces{3, 40_000})
			ba.move(pieces{1, 100_000}, pieces{1, 65_536})
			return ab.done() && ba.done()
		})
	}},
	{"back-pressure", backPressure},
	{"bytes are copied by Send", func(t T, w *world) {
		a, b := w.pair()
		buf := make([]byte, 1000)
		fill(buf, 0)
		sent := 0
		w.until("sent", func() bool {
			n, err := a.send1(buf[sent:])
			require.NoError(t, err)
			clear(buf[sent : sent+n])
			sent += n
			return sent == len(buf)
		})
		w.takes(b, 0, 1000)
	}},
	{"delivered", delivered},
	{"many streams at once", manyStreams},
	{"more events than room for them", func(t T, w *world) {
		server, client := w.node(), w.node()
		server.events = server.events[:1]
		client.events = client.events[:3]
		w.crowd(client, server.listen(), 40, 5000)
	}},
}

// pieceSizes moves bytes in pieces around the sizes at which stacks change their method.
func pieceSizes(t T, w *world) {
	a, b := w.pair()
	most, step := 300_000, 1
	if testing.Short() {
		most, step = 100_000, 2
	}
	for i, size := range []int{2, 3, 100, 1448, 4096, 16<<10 - 1, 16 << 10, 16<<10 + 1, 32 << 10, 32<<10 + 1, 200_000} {
		counts := []int{1, 2, 3, stack.PiecesMax}
		for j := i % step; j < len(counts); j += step {
			count := counts[j]
			total := min(2*size*count, most)
			w.movesCut(a, b, total, pieces{count, size}, pieces{1, 64 << 10})
			w.movesCut(b, a, total, pieces{1, size}, pieces{count, size})
		}
	}
}

func emptyPieces(t T, w *world) {
	a, b := w.pair()
	out, in := make([]byte, 10), make([]byte, 20)
	fill(out, 0)
	sent := 0
	w.until("sent", func() bool {
		left := out[sent:]
		n, err := a.send([][]byte{nil, left[:len(left)/2], {}, left[len(left)/2:], nil})
		require.NoError(t, err)
		sent += n
		return sent == len(out)
	})
	got := 0
	w.until("received", func() bool {
		n, err := b.recv([][]byte{{}, in[got : got+1], nil, in[got+1:], {}})
		require.NoError(t, err)
		got += n
		return got == 10
	})
	verify(t, in[:10], 0)
}

// backPressure fills a stream until it takes no more, twice, and empties it. A little room
// need not make an event; much room must.
func backPressure(t T, w *world) {
	const most = 256 << 20
	a, b := w.pair()
	out, in := make([]byte, 64<<10), make([]byte, 256<<10)
	from, to := 0, 0
	for range 2 {
		// Room may appear while bytes are under way, so the stream counts as full only if it
		// is still full when nothing happens any more. If everything was delivered by then,
		// there is room, and its event must come.
		for full := false; !full; {
			w.until("the stream takes no more", func() bool {
				fill(out, from)
				n, err := a.send1(out)
				require.NoError(t, err)
				from += n
				require.Less(t, from, most, "nothing stops the sender")
				return !a.writable
			})
			w.settle()
			if full = !a.writable && !a.stream.Delivered(); !full {
				w.until("room has an event", func() bool { return a.writable })
			}
		}
		w.until("emptied and writable", func() bool {
			n, err := b.recv1(in)
			require.NoError(t, err)
			verify(t, in[:n], to)
			to += n
			return to == from && a.writable
		})
	}
}

func delivered(t T, w *world) {
	a, b := w.pair()
	assert.True(t, b.stream.Delivered(), "nothing was sent")
	w.moves(a, b, 300_000)
	w.until("delivered", a.stream.Delivered)
	require.NoError(t, a.stream.Finish())
	w.until("delivered with its end", a.stream.Delivered)
}

func manyStreams(t T, w *world) {
	client := w.node()
	w.crowd(client, w.node().listen(), 200, 20_000)
}

// crowd moves bytes both ways over many streams at once; over fewer with -short.
func (w *world) crowd(client *node, l *end, streams, bytes int) {
	if testing.Short() {
		streams = 25 // more than a poll has events
	}
	var dialled []*end
	for range streams {
		dialled = append(dialled, client.dial(l.listener.Addr()))
	}
	var flows []*flow
	var hello [4]byte
	sent := make([]int, streams)
	done := make([]bool, streams)
	var fresh []*end
	w.until("all met", func() bool {
		for i, e := range dialled {
			if sent[i] == 0 {
				n, err := e.send1([]byte{byte(i)}) // identifies its other end
				noError(w.t, err)
				sent[i] = n
			}
		}
		for e := l.accept(); e != nil; e = l.accept() {
			fresh = append(fresh, e)
		}
		for _, e := range fresh {
			n, err := e.recv1(hello[:])
			noError(w.t, err)
			if n == 1 {
				i := int(hello[0])
				require.False(w.t, done[i], "stream %d twice", i)
				done[i] = true
				flows = append(flows, newFlow(dialled[i], e, bytes+i), newFlow(e, dialled[i], bytes-i))
			}
		}
		return len(flows) == 2*streams
	})
	w.until("all moved", func() bool {
		left := 0
		for _, f := range flows {
			f.move(pieces{1, 3000}, pieces{1, 4000})
			if !f.done() {
				left++
			}
		}
		return left == 0
	})
}

// pieces says how to cut a buffer: count pieces of size bytes.
type pieces struct{ count, size int }

func (p pieces) String() string { return fmt.Sprintf("%d of %d", p.count, p.size) }

// cut makes pieces of b, or of as much of it as they hold.
func (p pieces) cut(b []byte) [][]byte {
	var out [][]byte
	for range p.count {
		n := min(p.size, len(b))
		if n == 0 {
			break
		}
		out, b = append(out, b[:n:n]), b[n:]
	}
	return out
}

// flow is a number of bytes under way from one end to the other.
type flow struct {
	from, to  *end
	total     int
	sent, got int
	out, in   []byte
	next      []byte // bytes of out that follow those already sent
}

func newFlow(from, to *end, total int) *flow { return &flow{from: from, to: to, total: total} }

func (f *flow) done() bool { return f.got == f.total }

// move sends once and receives once.
func (f *flow) move(send, recv pieces) {
	t := f.from.n.w.t
	if n := min(send.count*send.size, f.total-f.sent); n > 0 && f.from.writable {
		f.prepare(n)
		n, err := f.from.send(send.cut(f.next[:n]))
		noError(t, err)
		f.next = f.next[n:]
		f.sent += n
	}
	if !f.to.readable {
		return
	}
	f.in = grow(f.in, recv.count*recv.size)
	n, err := f.to.recv(recv.cut(f.in))
	noError(t, err)
	verify(t, f.in[:n], f.got)
	if f.got += n; f.got > f.sent {
		require.Fail(t, "bytes that nobody sent")
	}
}

// prepare makes at least n bytes to send. A stream with little room takes a few bytes at a
// time; the rest is not made again.
func (f *flow) prepare(n int) {
	if left := len(f.next); left < n {
		out := grow(f.out, n)
		copy(out, f.next)
		fill(out[left:], f.sent+left)
		f.out, f.next = out, out
	}
}

func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// moves sends count bytes from one end to the other and checks them.
func (w *world) moves(from, to *end, count int) {
	w.t.Helper()
	w.movesCut(from, to, count, pieces{1, 128 << 10}, pieces{1, 64 << 10})
}

func (w *world) movesCut(from, to *end, count int, send, recv pieces) {
	w.t.Helper()
	f := newFlow(from, to, count)
	w.until(fmt.Sprintf("%d bytes in %v, out in %v", count, send, recv), func() bool {
		f.move(send, recv)
		return f.done()
	})
}

// gives sends count bytes of the pattern, from an offset on.
func (w *world) gives(e *end, offset, count int) {
	w.t.Helper()
	b := make([]byte, count)
	fill(b, offset)
	w.until("sent", func() bool {
		n, err := e.send1(b)
		require.NoError(w.t, err)
		b = b[n:]
		return len(b) == 0
	})
}

// takes receives count bytes of the pattern, from an offset on.
func (w *world) takes(e *end, offset, count int) {
	w.t.Helper()
	b := make([]byte, count)
	w.until("received", func() bool {
		n, err := e.recv1(b)
		require.NoError(w.t, err)
		verify(w.t, b[:n], offset)
		b, offset = b[n:], offset+n
		return len(b) == 0
	})
}
