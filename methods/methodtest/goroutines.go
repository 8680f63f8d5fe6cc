package methodtest

import (
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Every call may be made by many goroutines at once.
var goroutineTests = Tests{
	{"GoroutinesEachAContext", false, testGoroutinesEachAContext},
	{"GoroutinesOneContext", false, testGoroutinesOneContext},
	{"GoroutinesOnBothSides", false, testGoroutinesOnBothSides},
	{"GoroutinesTakeUnexpected", false, testGoroutinesTakeUnexpected},
	{"GoroutinesOpenAndClose", false, testGoroutinesOpenAndClose},
}

func testGoroutinesEachAContext(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.threaded()
	w.meet(a, b)
	size := mixed(a.sizesOfEachProtocol())
	const count, rounds = 8, 30
	w.parallel(2*count, func(t T, i int) {
		from, to := a, b
		if i%2 == 1 {
			from, to = b, a
		}
		sender, receiver := from.newLane(t), to.newLane(t)
		for round := range rounds {
			m := w.message(size(i + round))
			r := receiver.recv(from, bmi.Tag(i), m.size)
			w.done(sender.send(to, bmi.Tag(i), m))
			r.got(m)
		}
	})
}

// testGoroutinesOneContext: several goroutines wait in one context, each for
// its own operation.
func testGoroutinesOneContext(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.threaded()
	w.meet(a, b)
	actx, bctx := a.ctx, b.ctx
	const count, rounds = 8, 50
	w.parallel(2*count, func(t T, i int) {
		tag := bmi.Tag(i / 2)
		var buf [16]byte
		for round := range rounds {
			m := message{id: uint64(i/2*rounds + round), size: len(buf)}
			var p bmi.Posted
			var err error
			ctx := actx
			if i%2 == 0 {
				m.fill([][]byte{buf[:]})
				p, err = actx.PostSend(a.addr(b), tag, buf[:], nil)
			} else {
				ctx = bctx
				p, err = bctx.PostRecv(b.addr(a), tag, buf[:], nil)
			}
			require.NoError(t, err)
			if !p.Done {
				c, done, err := ctx.Test(p.Op, w.s.timeout())
				require.NoError(t, err)
				require.True(t, done, "goroutine %d, round %d", i, round)
				require.NoError(t, c.Err)
				require.Equal(t, p.Op, c.Op)
			}
			if i%2 == 1 {
				require.Equal(t, -1, m.wrongAt([][]byte{buf[:]}))
			}
		}
	})
}

func testGoroutinesOnBothSides(t T, s *Subject) {
	w := newWorld(t, s)
	w.threaded()
	const count, rounds = 4, 20
	var nodes []*node
	for range count {
		nodes = append(nodes, w.open("n"))
	}
	w.meet(nodes...)
	size := mixed(nodes[0].sizesOfEachProtocol())
	// Each to all others, in rounds; the contents of messages follow from sender,
	// receiver and round.
	what := func(from, to, round int) message {
		k := (from*count+to)*rounds + round
		return message{id: uint64(k), size: size(k)}
	}
	w.parallel(count, func(t T, i int) {
		l := nodes[i].newLane(t)
		for round := range rounds {
			recvs := make([]*op, count)
			var sends []*op
			for j := range count {
				if j != i {
					recvs[j] = l.recv(nodes[j], 1, what(j, i, round).size)
					sends = append(sends, l.send(nodes[j], 1, what(i, j, round)))
				}
			}
			w.done(sends...)
			for j, r := range recvs {
				if r != nil {
					r.got(what(j, i, round))
				}
			}
		}
	})
}

func testGoroutinesTakeUnexpected(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.threaded()
	w.meet(a, b)
	const senders, takers, each = 4, 4, 50
	taken := make([][]bmi.Tag, takers)
	w.parallel(senders+takers, func(t T, i int) {
		if i < senders {
			l := a.newLane(t)
			for k := range each {
				w.done(l.sendUnexpected(b, 0, bmi.Tag(i*each+k), message{id: uint64(i*each + k), size: 20}))
			}
			return
		}
		mine := &taken[i-senders]
		var out [1]bmi.Unexpected
		for len(*mine) < senders*each/takers {
			n, err := b.ep.TestUnexpected(out[:], w.s.timeout())
			require.NoError(t, err)
			require.Equal(t, 1, n, "there are enough for everybody")
			m := message{id: uint64(out[0].Tag), size: 20}
			require.Equal(t, -1, m.wrongAt([][]byte{out[0].Data}))
			*mine = append(*mine, out[0].Tag)
			out[0].Release()
		}
	})
	seen := make(map[bmi.Tag]bool)
	for _, tags := range taken {
		for _, tag := range tags {
			require.False(t, seen[tag], "message %d was taken twice", tag)
			seen[tag] = true
		}
	}
	require.Len(t, seen, senders*each)
}

// testGoroutinesOpenAndClose opens and closes endpoints while others work.
func testGoroutinesOpenAndClose(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.threaded()
	w.meet(a, b)
	w.parallel(4, func(t T, i int) {
		if i == 0 {
			sender, receiver := a.newLane(t), b.newLane(t)
			for range 200 {
				m := w.message(500)
				r := receiver.recv(a, 1, m.size)
				w.done(sender.send(b, 1, m))
				r.got(m)
			}
			return
		}
		for k := range 10 {
			guest := w.openFor(t, "guest")
			w.done(guest.sendUnexpected(b, 0, bmi.Tag(i*100+k), w.message(10)))
			guest.abandon()
			w.closeBounded(guest)
		}
	})
	w.untaken = true
}
