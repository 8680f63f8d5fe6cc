package methodtest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Every call of bmi, used in the simplest way, and used wrongly.
var callTests = Tests{
	{"Info", true, testInfo},
	{"SendRecv", true, testSendRecv},
	{"SendToItself", false, testSendToItself},
	{"Unexpected", true, testUnexpected},
	{"TestTakesOneOp", true, testTestTakesOneOp},
	{"TestSomeTakesThose", true, testTestSomeTakesThose},
	{"TestContextTakesAny", true, testTestContextTakesAny},
	{"OpIDs", true, testOpIDs},
	{"WrongUse", true, testWrongUse},
	{"Alloc", false, testAlloc},
	{"Counters", false, testCounters},
	{"PendingLimit", true, testPendingLimit},
}

func testInfo(t T, s *Subject) {
	_, a, b := pair(t, s)
	i := a.info()
	addr := a.addr(b)
	assert.NotEmpty(t, i.Description, "a line for people")
	assert.Positive(t, i.MaxUnexpectedSize)
	assert.Positive(t, i.MaxExpectedSize)
	assert.GreaterOrEqual(t, i.MaxExpectedSize, i.EagerSize, "eager messages are expected messages")
	assert.GreaterOrEqual(t, i.EagerSize, 0)
	assert.GreaterOrEqual(t, i.MaxPieces, 1)
	assert.Equal(t, a.ep.Addresses(), i.Addresses, "one method listens, so both list the same")
	assert.Contains(t, i.Addresses, s.Address(a.name))

	size, err := a.ep.MaxExpectedSize(addr)
	assert.NoError(t, err)
	assert.Equal(t, i.MaxExpectedSize, size)
	size, err = a.ep.MaxUnexpectedSize(addr)
	assert.NoError(t, err)
	assert.Equal(t, i.MaxUnexpectedSize, size)
	assert.Equal(t, i, a.info(), "capabilities do not change")
}

func testSendRecv(t T, s *Subject) {
	w, a, b := pair(t, s)
	m, n := w.message(1000), w.message(100)
	r := b.recv(a, 7, 2000)
	send := a.send(b, 7, m)
	w.done(send, r)
	r.got(m)

	r = a.recv(b, 7, 100)
	send = b.send(a, 7, n)
	w.done(send, r)
	r.got(n)
}

func testSendToItself(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.twoWay()
	addr, err := a.ep.Lookup(s.Address(a.name))
	if isOneOf(err, []error{bmi.ErrNotSupported}) {
		t.Skipf("the method does not talk to itself: %v", err)
	}
	require.NoError(t, err)
	a.learn(a, addr)
	large := w.message(a.info().EagerSize + 1000)
	if large.size > a.info().MaxExpectedSize {
		large.size = a.info().MaxExpectedSize
	}
	for _, m := range []message{w.message(0), w.message(100), large} {
		w.exchange(a, a, 1, m)
		early := a.send(a, 2, m)
		r := a.recv(a, 2, m.size)
		w.done(early, r)
		r.got(m)
	}
	u := a.sendUnexpected(a, 0, 3, w.message(10))
	got := a.take(1)
	requireAddr(t, addr, got[0].From, "the sender is the endpoint itself")
	got[0].Release()
	w.done(u)
	w.exchange(a, b, 1, w.message(50))
}

func testUnexpected(t T, s *Subject) {
	w, a, b := pair(t, s)
	for tag, size := range []int{0, 1, 100, a.info().MaxUnexpectedSize} {
		m := w.message(size)
		send := a.sendUnexpected(b, 0, bmi.Tag(tag), m)
		u := b.take(1)
		w.requireUnexpected(u[0], 0, bmi.Tag(tag), m)
		if !s.OneWay {
			requireAddr(t, b.addr(a), u[0].From, "a sender is known by the address that it listens on")
		}
		b.learn(a, u[0].From)
		u[0].Release()
		w.done(send)
		// An answer can be sent to the sender's address.
		w.exchange(b, a, bmi.Tag(tag), w.message(size+1))
	}
}

// requireUnexpected checks everything about a message except its sender.
func (w *world) requireUnexpected(u bmi.Unexpected, class bmi.Class, tag bmi.Tag, m message) {
	w.Helper()
	require.Equal(w, class, u.Class, "class")
	require.Equal(w, tag, u.Tag, "tag")
	require.False(w, u.From.IsZero(), "the sender has an address")
	require.Len(w, u.Data, m.size, "unexpected message with tag %d", tag)
	require.Equal(w, -1, m.wrongAt([][]byte{u.Data}), "first wrong byte of %v", m)
}

func testTestTakesOneOp(t T, s *Subject) {
	w, a, b := pair(t, s)
	r1, r2 := b.recv(a, 1, 10), b.recv(a, 2, 10)
	require.True(t, r1.pending && r2.pending, "nothing was sent yet")
	_, done, err := b.ctx.Test(r1.id, 0)
	require.NoError(t, err)
	require.False(t, done, "nothing was sent yet")

	m1, m2 := w.message(10), w.message(10)
	w.done(a.send(b, 2, m2), a.send(b, 1, m1))
	for _, r := range []*op{r1, r2} {
		c := b.testOne(r)
		require.Equal(t, r.id, c.Op)
		b.completed(c)
		_, done, err := b.ctx.Test(r.id, 0)
		require.ErrorIs(t, err, bmi.ErrUnknownOp, "the operation was taken already")
		require.False(t, done)
	}
	r1.got(m1)
	r2.got(m2)
}

// testOne calls Test until it returns o. Test must not return any other
// operation.
func (l *lane) testOne(o *op) bmi.Completion {
	l.t.Helper()
	var c bmi.Completion
	l.untilDone(o.what, func() (done bool) {
		var err error
		c, done, err = l.ctx.Test(o.id, l.patience())
		require.NoError(l.t, err)
		return done
	})
	return c
}

func testTestSomeTakesThose(t T, s *Subject) {
	w, a, b := pair(t, s)
	var rs []*op
	var ms []message
	for tag := range bmi.Tag(6) {
		rs = append(rs, b.recv(a, tag, 10))
		ms = append(ms, w.message(10))
	}
	out := make([]bmi.Completion, 6)
	n, err := b.ctx.TestSome(ids(rs...), out, 0)
	require.NoError(t, err)
	require.Zero(t, n, "nothing was sent yet")
	for tag := range bmi.Tag(6) {
		w.done(a.send(b, tag, ms[tag]))
	}

	// Only odd ones, at most two at a time.
	odd := map[bmi.OpID]*op{rs[1].id: rs[1], rs[3].id: rs[3], rs[5].id: rs[5]}
	b.untilDone("TestSome takes three operations", func() bool {
		var ask []bmi.OpID
		for id := range odd {
			ask = append(ask, id)
		}
		n, err := b.ctx.TestSome(ask, out[:2], b.patience())
		require.NoError(t, err)
		require.LessOrEqual(t, n, 2, "there was room for two")
		for _, c := range out[:n] {
			require.NotNil(t, odd[c.Op], "only what was asked for")
			delete(odd, c.Op)
			b.completed(c)
		}
		return len(odd) == 0
	})
	for _, i := range []int{0, 2, 4} {
		require.True(t, rs[i].pending, "TestSome was not asked for this one")
	}
	w.done(rs...)
	for i, r := range rs {
		r.got(ms[i])
	}
}

func testTestContextTakesAny(t T, s *Subject) {
	w, a, b := pair(t, s)
	var out [3]bmi.Completion
	n, err := b.ctx.TestContext(out[:], 0)
	require.NoError(t, err)
	require.Zero(t, n, "nothing was posted yet")
	const count = 8
	var rs []*op
	for tag := range bmi.Tag(count) {
		rs = append(rs, b.recv(a, tag, 10))
		w.done(a.send(b, tag, message{id: uint64(tag), size: 10}))
	}
	taken := 0
	b.untilDone("TestContext takes every operation", func() bool {
		n, err := b.ctx.TestContext(out[:], b.patience())
		require.NoError(t, err)
		require.LessOrEqual(t, n, len(out))
		for _, c := range out[:n] {
			b.completed(c)
		}
		taken += n
		return taken == count
	})
	for tag, r := range rs {
		r.got(message{id: uint64(tag), size: 10})
	}
}

func testOpIDs(t T, s *Subject) {
	w, a, b := pair(t, s)
	seen := make(map[bmi.OpID]string)
	for range 200 {
		m := w.message(8)
		r := b.recv(a, 1, 8)
		send := a.send(b, 1, m)
		for _, o := range []*op{r, send} {
			if o.immediate {
				continue
			}
			require.NotZero(t, o.id)
			if o.l == b.lane {
				require.NotContains(t, seen, o.id, "an id is not used again for a long time")
				seen[o.id] = o.what
			}
		}
		w.done(send, r)
		r.got(m)
	}
}

func testWrongUse(t T, s *Subject) {
	w, a, b := pair(t, s)
	addr := a.addr(b)
	buf := make([]byte, 8)
	_, err := a.ctx.PostSend(bmi.Addr{}, 1, buf, nil)
	assert.Error(t, err, "send to nobody")
	_, err = a.ctx.PostRecv(bmi.Addr{}, 1, buf, nil)
	assert.Error(t, err, "receive from nobody")
	_, err = a.ctx.PostSendUnexpected(bmi.Addr{}, 0, 1, buf, nil)
	assert.Error(t, err, "unexpected send to nobody")

	unknown := bmi.OpID(1 << 50)
	_, _, err = a.ctx.Test(unknown, 0)
	assert.ErrorIs(t, err, bmi.ErrUnknownOp)
	_, _, err = a.ctx.Test(0, 0)
	assert.ErrorIs(t, err, bmi.ErrUnknownOp)
	assert.ErrorIs(t, a.ctx.Cancel(unknown), bmi.ErrUnknownOp)
	assert.ErrorIs(t, a.ctx.Cancel(0), bmi.ErrUnknownOp)

	if most := a.info().MaxPieces; most < 1<<16 {
		pieces := make([][]byte, most+1)
		_, err = a.ctx.PostSendList(addr, 1, pieces, nil)
		assert.Error(t, err, "%d pieces, of which the method takes %d", len(pieces), most)
		_, err = a.ctx.PostRecvList(addr, 1, pieces, nil)
		assert.Error(t, err, "%d pieces, of which the method takes %d", len(pieces), most)
	}
	if !a.info().Classes {
		_, err = a.ctx.PostSendUnexpected(addr, 1, 1, buf, nil)
		assert.Error(t, err, "a method without classes has class 0 only")
	}
	// None of these was accepted, so none may arrive or disturb others.
	w.exchange(a, b, 1, w.message(8))
}

func testAlloc(t T, s *Subject) {
	w, a, b := pair(t, s)
	for _, size := range a.largeSizes(1, 100, 5000, 1<<20) {
		sender, receiver := a.alloc(b, size), b.alloc(a, size)
		for range 3 {
			m := w.message(size)
			r := b.recvMemory(a, 1, receiver)
			send := a.sendMemory(b, 1, m, sender)
			w.done(send, r)
			r.got(m)
		}
		a.free(b, sender)
		b.free(a, receiver)
	}
	// Many at once, all distinct.
	var mems []*memory
	for i := range 50 {
		mem := a.alloc(b, 1000)
		set(mem.pieces[0], byte(i))
		mems = append(mems, mem)
	}
	for i, mem := range mems {
		require.True(t, all(mem.pieces[0], byte(i)), "memory %d overlaps with another", i)
		a.free(b, mem)
	}
}

func (n *node) alloc(peer *node, size int) *memory {
	n.w.Helper()
	b, err := n.ep.Alloc(n.addr(peer), size)
	require.NoError(n.w, err, "alloc of %d bytes", size)
	require.Len(n.w, b, size)
	return memoryOf(b)
}

// free gives memory back. From then on its contents belong to the method.
func (n *node) free(peer *node, mem *memory) {
	n.w.Helper()
	require.NoError(n.w, n.ep.Free(n.addr(peer), mem.pieces[0]))
	mem.forget()
}

func testCounters(t T, s *Subject) {
	w, a, b := pair(t, s)
	for range 5 {
		w.exchange(a, b, 1, w.message(100))
	}
	sent, received := a.method(), b.method()
	if sent == nil || received == nil {
		t.Skipf("the method does not count")
	}
	assert.GreaterOrEqual(t, sent.MessagesSent, uint64(5))
	assert.GreaterOrEqual(t, sent.BytesSent, uint64(500))
	assert.GreaterOrEqual(t, received.MessagesReceived, uint64(5))
	assert.GreaterOrEqual(t, received.BytesReceived, uint64(500))
}

// testPendingLimit: a post over the limit of pending operations is refused
// without other effects. Once a completion was taken, there is room again.
func testPendingLimit(t T, s *Subject) {
	w := newWorld(t, s)
	const limit = 16
	a := w.open("a")
	b := w.open("b", func(cfg *bmi.Config) { cfg.Limits.PendingOps = limit })
	w.meet(a, b)
	b.impatient = true
	var recvs []*op
	for range limit {
		recvs = append(recvs, b.recv(a, 1, 10))
	}
	_, err := b.tryRecvMemory(a, 1, newMemory(10))
	require.ErrorIs(t, err, bmi.ErrAgain)
	_, err = b.trySend(a, 1, w.message(10))
	require.ErrorIs(t, err, bmi.ErrAgain)

	m := w.message(10)
	w.done(a.send(b, 1, m))
	recvs[0].got(m)
	recvs = append(recvs[1:], b.recv(a, 1, 10))
	for _, r := range recvs {
		m := w.message(10)
		w.done(a.send(b, 1, m))
		r.got(m)
	}
}
