package methodtest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Endpoints connect when they first need to, from either side.
var connectTests = Tests{
	{"ConnectOnDemand", true, testConnectOnDemand},
	{"ConnectSimultaneously", true, testConnectSimultaneously},
	{"ConnectAllToAll", true, testConnectAllToAll},
	{"ConnectManyQueued", true, testConnectManyQueued},
	{"PeerNotThere", true, testPeerNotThere},
	{"PeerComesLater", true, testPeerComesLater},
}

func testConnectOnDemand(t T, s *Subject) {
	w := newWorld(t, s)
	for _, size := range newWorldInfoSizes(w) {
		a, b := w.open("a"), w.open("b")
		w.exchange(a, b, 1, w.message(size))
		w.exchange(b, a, 1, w.message(size))

		// The receiver learns of the other first.
		c, d := w.open("c"), w.open("d")
		if !s.OneWay {
			d.addr(c)
		}
		m := w.message(size)
		r := d.recv(c, 1, size)
		w.done(c.send(d, 1, m))
		r.got(m)

		e, f := w.open("e"), w.open("f")
		u := e.sendUnexpected(f, 0, 1, w.message(10))
		f.take(1)[0].Release()
		w.done(u)
	}
}

func newWorldInfoSizes(w *world) []int {
	w.Helper()
	return w.open("info").sizesOfEachProtocol()
}

func testConnectSimultaneously(t T, s *Subject) {
	w := newWorld(t, s)
	w.twoWay()
	sizes := newWorldInfoSizes(w)
	for round := range 10 {
		a, b := w.open("a"), w.open("b")
		w.meet(a, b)
		size := sizes[round%len(sizes)]
		ma, mb := w.message(size), w.message(size)
		var ra, rb, sa, sb *op
		// At the same time if there are threads, otherwise before either side
		// learns of the other.
		w.together(
			func(t T) {
				l := a.newLane(t)
				ra, sa = l.recv(b, 1, size), l.send(b, 1, ma)
			},
			func(t T) {
				l := b.newLane(t)
				rb, sb = l.recv(a, 1, size), l.send(a, 1, mb)
			},
		)
		w.done(sa, sb)
		ra.got(mb)
		rb.got(ma)
	}
}

func testConnectAllToAll(t T, s *Subject) {
	w := newWorld(t, s)
	const count = 6
	var nodes []*node
	for range count {
		nodes = append(nodes, w.open("n"))
	}
	if s.OneWay {
		w.meet(nodes...)
	}
	size := mixed(nodes[0].sizesOfEachProtocol())
	type flow struct {
		from, to *node
		m        message
		recv     *op
	}
	var flows []flow
	for i, from := range nodes {
		for j, to := range nodes {
			if i != j {
				m := w.message(size(i*count + j))
				flows = append(flows, flow{from, to, m, to.recv(from, 1, m.size)})
			}
		}
	}
	var sends []*op
	for i := len(flows) - 1; i >= 0; i-- { // in the reverse order of the receives
		f := flows[i]
		sends = append(sends, f.from.send(f.to, 1, f.m))
	}
	w.done(sends...)
	for _, f := range flows {
		f.recv.got(f.m)
	}
}

func testConnectManyQueued(t T, s *Subject) {
	w, a, b := pair(t, s)
	size := mixed(a.sizesOfEachProtocol())
	const count = 50
	var sends, recvs []*op
	var ms []message
	for i := range count {
		ms = append(ms, w.message(size(i)))
		sends = append(sends, a.send(b, bmi.Tag(i%3), ms[i]))
	}
	for i, m := range ms {
		recvs = append(recvs, b.recv(a, bmi.Tag(i%3), m.size))
	}
	w.done(sends...)
	for i, r := range recvs {
		r.got(ms[i])
	}
}

// nobody is an address without a listener, as seen from a.
func (w *world) nobody(a *node) *node {
	w.Helper()
	n := &node{w: w, name: uniqueName("nobody"), cfg: bmi.Config{}}
	addr, err := a.ep.Lookup(w.s.Address(n.name))
	require.NoError(w, err, "looking up connects to nobody, so it cannot know")
	a.learn(n, addr)
	return n
}

func testPeerNotThere(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.exchange(a, b, 1, w.message(10))
	nobody := w.nobody(a)
	for range 2 {
		var ops []*op
		for _, size := range a.sizesOfEachProtocol() {
			ops = append(ops, a.send(nobody, 1, w.message(size)))
		}
		ops = append(ops, a.sendUnexpected(nobody, 0, 1, w.message(10)))
		w.exchange(a, b, 1, w.message(10)) // meanwhile
		w.failed(ops, bmi.ErrUnreachable)
	}
	w.exchange(a, b, 1, w.message(10))
}

func testPeerComesLater(t T, s *Subject) {
	w := newWorld(t, s)
	a := w.open("a")
	absent := w.nobody(a)
	addr := a.addr(absent)
	w.failed([]*op{a.send(absent, 1, w.message(10))}, bmi.ErrUnreachable)
	b := w.openAs(absent.name, w.config(absent.name))
	a.learn(b, addr)
	if s.OneWay {
		a.introduce(b, addr)
	}
	w.recovered(a, b)
}

// recovered requires that a and b soon exchange messages again after their
// connection broke. A post may still use the broken connection and fail, but a
// send that succeeds must arrive.
func (w *world) recovered(a, b *node) {
	w.Helper()
	for _, way := range [][2]*node{{a, b}, {b, a}} {
		from, to := way[0], way[1]
		tries := 0
		from.untilDone("messages flow again from "+from.name+" to "+to.name, func() bool {
			end := w.takeStranded(from, to)
			ok := w.attempt(from, to, tries, w.freshTag(), w.message(100))
			end()
			tries++
			if !ok && w.s.OneWay { // the side that did not connect cannot connect now
				from.forget(to)
				to.forget(from)
			}
			return ok
		})
	}
	w.stranded = slices.DeleteFunc(w.stranded, func(s strand) bool {
		return s.from == a && s.to == b || s.from == b && s.to == a
	})
	tag := w.freshTag()
	for _, size := range a.sizesOfEachProtocol() {
		w.exchange(a, b, tag, w.message(size))
		w.exchange(b, a, tag, w.message(size))
	}
}

// A strand is a message that may have been sent without a matching receive.
type strand struct {
	from, to *node
	tag      bmi.Tag
	size     int
}

// strand records that a message of this size may be left without a receive. If
// that blocks later messages, recovered takes it.
func (w *world) strand(from, to *node, tag bmi.Tag, size int) {
	if w.s.HeadOfLine {
		w.stranded = append(w.stranded, strand{from, to, tag, size})
	}
}

// takeStranded posts receives for messages that may be left in one direction. end
// cancels those without a match.
func (w *world) takeStranded(from, to *node) (end func()) {
	var recvs []*op
	for _, s := range w.stranded {
		if s.from == from && s.to == to {
			recvs = append(recvs, to.recv(from, s.tag, s.size))
		}
	}
	return func() {
		for _, r := range recvs {
			if r.pending {
				to.cancel(r)
			}
			w.wait(r)
		}
	}
}

// freshTag is a tag that was never used before: a message that failed in one
// attempt may still arrive in the next.
func (w *world) freshTag() bmi.Tag {
	w.tags++
	return 0xc0ffee00 + w.tags
}

// attempt tries to exchange a message. A send that uses the broken connection
// fails or, if it does not wait for an answer, is lost with it; then the receive
// is cancelled. tries is the number of earlier attempts.
func (w *world) attempt(from, to *node, tries int, tag bmi.Tag, m message) bool {
	w.Helper()
	r := to.recv(from, tag, m.size)
	send := from.send(to, tag, m)
	w.wait(send)
	if send.c.Err == nil {
		to.aWhile(tries, func() bool { return !r.pending })
	}
	if r.pending {
		to.cancel(r)
		w.wait(r)
	}
	if r.c.Err != nil {
		return false
	}
	r.got(m)
	return send.c.Err == nil
}
