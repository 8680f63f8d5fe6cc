package methodtest

import (
	"encoding/binary"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Peers in other processes: the same messages, and a real death of a process.
var forkTests = Tests{
	{"ForkEcho", false, testForkEcho},
	{"ForkKilled", false, testForkKilled},
	{"ForkRestarted", false, testForkRestarted},
}

// fork starts a peer in another process, or skips the test. The node represents
// the peer: it has an address and no endpoint.
func (w *world) fork(a *node) (*node, Process) {
	w.Helper()
	w.threaded()
	if w.s.Fork == nil {
		w.Skipf("the subject has no Fork hook")
	}
	n := &node{w: w, name: uniqueName("forked")}
	p := w.s.Fork(w.T, n.name)
	addr, err := a.ep.Lookup(w.s.Address(n.name))
	require.NoError(w, err)
	a.learn(n, addr)
	return n, p
}

// ask begins one echo: the operations end with the answer in the receive.
func (l *lane) ask(peer *node, tag bmi.Tag, m message) (recv *op, sends []*op) {
	l.t.Helper()
	recv = l.recv(peer, tag, m.size)
	sends = append(sends, l.sendRequest(peer, tag, m.size), l.send(peer, tag, m))
	return recv, sends
}

// sendRequest tells Serve what will follow.
func (l *lane) sendRequest(peer *node, tag bmi.Tag, size int) *op {
	l.t.Helper()
	mem := newMemory(requestSize)
	binary.LittleEndian.PutUint64(mem.pieces[0], uint64(size))
	o := &op{mem: mem, what: "request to " + peer.name}
	return l.must(l.post(o, l.n.addr(peer), func(c *bmi.Context, to bmi.Addr, pieces [][]byte, user any) (bmi.Posted, error) {
		return c.PostSendUnexpected(to, 0, tag, pieces[0], user)
	}))
}

func testForkEcho(t T, s *Subject) {
	w := newWorld(t, s)
	a := w.open("a")
	peer, p := w.fork(a)
	for i, size := range a.edges() {
		m := w.message(size)
		r, sends := a.ask(peer, bmi.Tag(i), m)
		r.got(m)
		w.done(sends...)
	}
	// Many at once.
	size := mixed(a.sizesOfEachProtocol())
	var recvs, sends []*op
	var ms []message
	for i := range 100 {
		ms = append(ms, w.message(size(i)))
		r, s := a.ask(peer, bmi.Tag(i), ms[i])
		recvs, sends = append(recvs, r), append(sends, s...)
	}
	for i, r := range recvs {
		r.got(ms[i])
	}
	w.done(sends...)
	for _, size := range a.largeSizes(1<<20, 16<<20) {
		m := w.message(size)
		r, sends := a.ask(peer, 1, m)
		r.got(m)
		w.done(sends...)
	}
	require.NoError(t, p.Stop())
}

// testForkKilled kills the peer while it is busy with everything.
func testForkKilled(t T, s *Subject) {
	w := newWorld(t, s)
	a, b := w.open("a"), w.open("b")
	size := mixed(a.sizesOfEachProtocol())
	for round := range 4 {
		peer, p := w.fork(a)
		var ops []*op
		for i := range 30 {
			r, sends := a.ask(peer, bmi.Tag(i), w.message(size(i)))
			ops = append(append(ops, r), sends...)
		}
		waiting := a.recv(peer, 1000, 10)
		a.heard(peer)
		w.wait(ops[:1+round*10]...) // the peer is in the middle of its work
		p.Kill()
		w.wait(ops...)
		w.failed([]*op{waiting})
		w.exchange(a, b, 1, w.message(100))
		w.exchange(b, a, 1, w.message(100))
	}
}

func testForkRestarted(t T, s *Subject) {
	w := newWorld(t, s)
	a := w.open("a")
	peer, p := w.fork(a)
	for round := range 3 {
		waiting := a.recv(peer, 1000, 10)
		m := w.message(1000)
		r, sends := a.ask(peer, 1, m)
		r.got(m)
		w.done(sends...)
		if round%2 == 0 {
			p.Kill()
		} else {
			require.NoError(t, p.Stop())
		}
		w.failed([]*op{waiting})

		p = s.Fork(t, peer.name)
		a.untilDone("a peer in a new process answers", func() bool {
			m := w.message(100)
			r, sends := a.ask(peer, 2, m)
			w.wait(sends...)
			for _, o := range sends {
				if o.c.Err != nil && r.pending {
					a.cancel(r)
				}
			}
			if w.wait(r); r.c.Err != nil {
				return false
			}
			r.got(m)
			return true
		})
	}
	require.NoError(t, p.Stop())
}
