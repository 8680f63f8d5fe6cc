package methodtest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// DropAddr: all operations with the peer end with ErrDropped, the connection
// closes, and the same endpoint can be looked up again.
var dropTests = Tests{
	{"DropAddr", true, testDropAddr},
	{"DropAddrUnused", true, testDropAddrUnused},
	{"DropAddrSparesOthers", true, testDropAddrSparesOthers},
	{"DropAddrDiscardsEarly", false, testDropAddrDiscardsEarly},
	{"DropAddrTellsPeer", false, testDropAddrTellsPeer},
}

// drop drops b at a.
func (n *node) drop(m *node) {
	n.w.Helper()
	require.NoError(n.w, n.ep.DropAddr(n.addr(m)))
	n.forget(m)
}

// renewed makes two endpoints exchange messages again after one dropped the
// other.
func (w *world) renewed(a, b *node) {
	w.Helper()
	if w.s.OneWay {
		b.forget(a)
	}
	w.recovered(a, b)
}

func testDropAddr(t T, s *Subject) {
	w, a, b := pair(t, s)
	for _, connected := range []bool{false, true} {
		addr := a.addr(b)
		if connected {
			w.exchange(a, b, 1, w.message(10))
		}
		size := a.sizesOfEachProtocol()[5]
		recvs := []*op{a.recv(b, 1, 100), a.recv(b, 2, size)}
		send := a.send(b, 3, w.message(size)) // no receive for it
		a.drop(b)
		w.failed(recvs, bmi.ErrDropped)
		switch {
		case send.immediate:
		case size > a.info().EagerSize && !s.HeadOfLine:
			w.failed([]*op{send}, bmi.ErrDropped)
		default: // an eager send may have completed earlier
			if w.wait(send); send.c.Err != nil {
				w.failed([]*op{send}, bmi.ErrDropped)
			}
		}

		buf := make([]byte, 10)
		_, err := a.ctx.PostSend(addr, 1, buf, nil)
		assert.ErrorIs(t, err, bmi.ErrDropped, "send to a dropped address")
		_, err = a.ctx.PostRecv(addr, 1, buf, nil)
		assert.ErrorIs(t, err, bmi.ErrDropped, "receive from a dropped address")
		_, err = a.ctx.PostSendUnexpected(addr, 0, 1, buf, nil)
		assert.ErrorIs(t, err, bmi.ErrDropped, "unexpected send to a dropped address")
		assert.Error(t, a.ep.DropAddr(addr), "drop it again")
		assert.NotPanics(t, func() { _ = addr.String() }, "its text can still be printed")

		w.renewed(a, b)
		require.True(t, addr != a.addr(b), "a dropped address does not come back")
		a.drop(b)
		w.renewed(a, b)
	}
}

func testDropAddrUnused(t T, s *Subject) {
	w, a, b := pair(t, s)
	assert.Error(t, a.ep.DropAddr(bmi.Addr{}), "the zero address")
	for range 50 {
		addr, err := a.ep.Lookup(s.Address(b.name))
		require.NoError(t, err)
		require.NoError(t, a.ep.DropAddr(addr))
	}
	w.exchange(a, b, 1, w.message(10))
}

func testDropAddrSparesOthers(t T, s *Subject) {
	w, a, b := pair(t, s)
	c := w.open("c")
	w.meet(a, b, c)
	w.exchange(a, b, 1, w.message(10))
	w.exchange(a, c, 1, w.message(10))
	m := w.message(100)
	early := w.message(50)
	w.done(c.send(a, 6, early))
	r := a.recv(c, 5, 100)
	a.drop(b)
	require.True(t, r.pending, "a receive from another peer")
	w.done(c.send(a, 5, m))
	r.got(m)
	a.recv(c, 6, 50).got(early)
}

func testDropAddrDiscardsEarly(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.meet(a, b)
	old, fresh := w.message(100), w.message(100)
	w.done(b.send(a, 9, old))
	w.arrived(b, a)
	a.drop(b)
	w.renewed(a, b)
	r := a.recv(b, 9, 100)
	w.done(b.send(a, 9, fresh))
	r.got(fresh)
}

// testDropAddrTellsPeer: the dropped side must not wait for ever.
func testDropAddrTellsPeer(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.exchange(a, b, 1, w.message(10))
	w.exchange(b, a, 1, w.message(10))
	r := b.recv(a, 1, 100)
	b.heard(a)
	a.drop(b)
	w.failed([]*op{r})
	w.renewed(a, b)
}
