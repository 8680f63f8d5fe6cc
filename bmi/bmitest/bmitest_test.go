package bmitest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world holds endpoints that one goroutine drives in turn.
type world struct {
	t   *testing.T
	opt bmitest.Options
	all []*node
}

type node struct {
	*bmi.Endpoint
	*bmi.Context
	w    *world
	done map[bmi.OpID]bmi.Completion
}

func newWorld(t *testing.T) *world {
	return &world{t: t, opt: bmitest.Options{Network: bmitest.NewNetwork()}}
}

func (w *world) open(names ...string) *node {
	cfg := bmi.Config{Manual: true, Methods: []string{bmitest.Name}, Options: map[string]any{bmitest.Name: w.opt}}
	for _, name := range names {
		cfg.Listen = append(cfg.Listen, "mem://"+name)
	}
	e, err := bmi.Open(context.Background(), cfg)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, e.Close()) })
	c, err := e.OpenContext()
	require.NoError(w.t, err)
	n := &node{e, c, w, map[bmi.OpID]bmi.Completion{}}
	w.all = append(w.all, n)
	return n
}

// step makes every endpoint poll until nothing happens any more.
func (w *world) step() {
	var out [4]bmi.Completion
	for range 10 {
		for _, n := range w.all {
			for {
				m, err := n.TestContext(out[:], 0)
				if m == 0 || err != nil {
					break
				}
				for _, c := range out[:m] {
					n.done[c.Op] = c
				}
			}
		}
	}
}

func (n *node) to(name string) bmi.Addr {
	a, err := n.Lookup("mem://" + name)
	require.NoError(n.w.t, err)
	return a
}

// must is the operation of a post that was not rejected.
func (n *node) must(p bmi.Posted, err error) bmi.Posted {
	n.w.t.Helper()
	require.NoError(n.w.t, err)
	return p
}

// end returns the completion of an operation.
func (n *node) end(p bmi.Posted) bmi.Completion {
	n.w.t.Helper()
	if p.Done {
		return bmi.Completion{Size: p.Size}
	}
	n.w.step()
	require.Contains(n.w.t, n.done, p.Op, "still pending")
	return n.done[p.Op]
}

func (n *node) pending(p bmi.Posted) bool {
	n.w.step()
	_, done := n.done[p.Op]
	return !done && !p.Done
}

func TestEagerRendezvousAndCredits(t *testing.T) {
	w := newWorld(t)
	w.opt.EagerSize, w.opt.Credits = 4, 2
	a, b := w.open("a"), w.open("b")
	to := a.to("b")
	assert.True(t, a.must(a.PostSend(to, 1, make([]byte, 4), nil)).Done)
	long := a.must(a.PostSend(to, 1, make([]byte, 5), nil))
	short := a.must(a.PostSend(to, 1, make([]byte, 1), nil))
	assert.False(t, short.Done, "out of credits")
	assert.True(t, a.pending(long))
	from := b.to("a")
	for _, want := range []int{4, 5, 1} {
		assert.Equal(t, want, b.end(b.must(b.PostRecv(from, 1, make([]byte, 9), nil))).Size)
	}
	assert.NoError(t, a.end(long).Err)
	assert.NoError(t, a.end(short).Err)
	s := a.Endpoint.Stats().Methods[0]
	assert.EqualValues(t, 1, s.EagerSent)
	assert.EqualValues(t, 1, s.RendezvousSent)
	assert.EqualValues(t, 1, s.CreditStalls)
}

// A short send that waited for credit does not wait for its receive as well.
func TestCreditComesBackWithoutReceives(t *testing.T) {
	w := newWorld(t)
	w.opt.Credits = 1
	a, b := w.open("a"), w.open("b")
	a.must(a.PostSend(a.to("b"), 1, []byte("1"), nil))
	second := a.must(a.PostSend(a.to("b"), 1, []byte("2"), nil))
	require.False(t, second.Done)
	assert.NoError(t, a.end(second).Err)
	buf := make([]byte, 1)
	for _, want := range []string{"1", "2"} {
		require.NoError(t, b.end(b.must(b.PostRecv(b.to("a"), 1, buf, nil))).Err)
		assert.Equal(t, want, string(buf))
	}
}

func TestEarlyMessagesAreBounded(t *testing.T) {
	w := newWorld(t)
	w.opt.EarlyMessages = 2
	a, b := w.open("a"), w.open("b")
	for i := range 5 {
		a.must(a.PostSend(a.to("b"), bmi.Tag(i), []byte{byte(i)}, nil))
	}
	w.step()
	assert.Equal(t, 2, b.Endpoint.Stats().Methods[0].EarlyMessages)
	buf := make([]byte, 1)
	for i := range 5 {
		require.NoError(t, b.end(b.must(b.PostRecv(b.to("a"), bmi.Tag(i), buf, nil))).Err)
		assert.EqualValues(t, i, buf[0])
	}
}

func TestCancelledSendsVanish(t *testing.T) {
	for name, early := range map[string]bool{"under way": false, "early": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.opt.EagerSize = 1
			a, b := w.open("a"), w.open("b")
			first := a.must(a.PostSend(a.to("b"), 1, []byte("first"), nil))
			if early {
				w.step()
			}
			require.NoError(t, a.Cancel(first.Op))
			assert.ErrorIs(t, a.end(first).Err, bmi.ErrCancelled)
			a.must(a.PostSend(a.to("b"), 1, []byte("second"), nil))
			buf := make([]byte, 8)
			got := b.end(b.must(b.PostRecv(b.to("a"), 1, buf, nil)))
			assert.Equal(t, "second", string(buf[:got.Size]))
		})
	}
}

func TestCancelLosesTheRace(t *testing.T) {
	w := newWorld(t)
	w.opt.EagerSize = 1
	a, b := w.open("a"), w.open("b")
	sent := a.must(a.PostSend(a.to("b"), 1, []byte("hello"), nil))
	b.must(b.PostRecv(b.to("a"), 1, make([]byte, 8), nil))
	_, err := b.TestContext(make([]bmi.Completion, 1), 0) // b takes it, a does not know yet
	require.NoError(t, err)
	require.NoError(t, a.Cancel(sent.Op))
	assert.NoError(t, a.end(sent).Err)
}

func TestCrashAndRestart(t *testing.T) {
	w := newWorld(t)
	w.opt.EagerSize = 1
	a, b := w.open("a"), w.open("b")
	recv := a.must(a.PostRecv(a.to("b"), 1, nil, nil))
	send := a.must(a.PostSend(a.to("b"), 1, []byte("lost"), nil))
	w.step()
	require.True(t, w.opt.Network.Crash("b"))
	require.False(t, w.opt.Network.Crash("b"))
	assert.ErrorIs(t, a.end(recv).Err, bmi.ErrPeerFailed)
	assert.ErrorIs(t, a.end(send).Err, bmi.ErrPeerFailed)
	assert.ErrorIs(t, a.end(a.must(a.PostSend(a.to("b"), 1, nil, nil))).Err, bmi.ErrUnreachable)
	assert.ErrorIs(t, b.end(b.must(b.PostSend(b.to("a"), 1, nil, nil))).Err, bmi.ErrPeerFailed, "it is dead")

	again := w.open("b")
	assert.NoError(t, a.end(a.must(a.PostSend(a.to("b"), 1, nil, nil))).Err)
	assert.NoError(t, again.end(again.must(again.PostRecv(again.to("a"), 1, nil, nil))).Err)
}

func TestCut(t *testing.T) {
	w := newWorld(t)
	a, b := w.open("a"), w.open("b")
	require.False(t, w.opt.Network.Cut("a", "b"), "not connected")
	a.must(a.PostSend(a.to("b"), 1, []byte("x"), nil))
	w.step()
	fromA := b.must(b.PostRecv(b.to("a"), 2, nil, nil))
	fromB := a.must(a.PostRecv(a.to("b"), 2, nil, nil))
	require.True(t, w.opt.Network.Cut("a", "b"))
	assert.ErrorIs(t, b.end(fromA).Err, bmi.ErrPeerFailed)
	assert.ErrorIs(t, a.end(fromB).Err, bmi.ErrPeerFailed)
	assert.NoError(t, b.end(b.must(b.PostRecv(b.to("a"), 1, make([]byte, 1), nil))).Err, "what had arrived is still there")
	assert.NoError(t, a.end(a.must(a.PostSend(a.to("b"), 3, nil, nil))).Err, "it connects again")
	assert.NoError(t, b.end(b.must(b.PostRecv(b.to("a"), 3, nil, nil))).Err)
}

func TestDrop(t *testing.T) {
	w := newWorld(t)
	w.opt.EagerSize = 1
	a, b := w.open("a"), w.open("b")
	ab := a.to("b")
	send := a.must(a.PostSend(ab, 1, []byte("long"), nil))
	recv := a.must(a.PostRecv(ab, 1, nil, nil))
	w.step()
	waiting := b.must(b.PostRecv(b.to("a"), 2, nil, nil))
	require.NoError(t, a.DropAddr(ab))
	assert.ErrorIs(t, a.end(send).Err, bmi.ErrDropped)
	assert.ErrorIs(t, a.end(recv).Err, bmi.ErrDropped)
	assert.ErrorIs(t, b.end(waiting).Err, bmi.ErrPeerFailed)
}

// TestDropWithinPoll: a peer that a handler drops, or another goroutine while a handler
// runs, does not hide what another peer sent.
func TestDropWithinPoll(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.open("a"), w.open("b"), w.open("c")
	w.open("gone")
	gone, heard := a.to("gone"), []bmi.Tag{}
	a.to("b")
	a.to("c")
	require.NoError(t, a.Handle(0, func(m bmi.Message) {
		heard = append(heard, m.Tag)
		if m.Tag == 1 {
			assert.NoError(t, a.DropAddr(gone))
		}
	}))
	b.must(b.PostSendUnexpected(b.to("a"), 0, 1, nil, nil))
	c.must(c.PostSendUnexpected(c.to("a"), 0, 2, nil, nil))
	w.step()
	assert.Equal(t, []bmi.Tag{1, 2}, heard)
}

func TestTalkingToOneself(t *testing.T) {
	w := newWorld(t)
	w.opt.EagerSize = 1
	a := w.open("a")
	send := a.must(a.PostSend(a.to("a"), 1, []byte("me"), nil))
	buf := make([]byte, 2)
	assert.NoError(t, a.end(a.must(a.PostRecv(a.to("a"), 1, buf, nil))).Err)
	assert.NoError(t, a.end(send).Err)
	assert.Equal(t, "me", string(buf))
}

func TestClientsHaveAddresses(t *testing.T) {
	w := newWorld(t)
	server, client := w.open("server"), w.open()
	assert.Equal(t, []string{"mem://server"}, server.Addresses())
	assert.Empty(t, client.Addresses())
	client.must(client.PostSendUnexpected(client.to("server"), 0, 1, []byte("hi"), nil))
	w.step()
	var u [1]bmi.Unexpected
	n, err := server.TestUnexpected(u[:], 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	got := client.must(client.PostRecv(client.to("server"), 1, nil, nil))
	server.must(server.PostSend(u[0].From, 1, nil, nil))
	assert.NoError(t, client.end(got).Err)
}

func TestOneNameEach(t *testing.T) {
	_, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{"mem://a", "mem://b"}})
	assert.ErrorIs(t, err, bmi.ErrInvalid)
}

func TestSleepEnds(t *testing.T) {
	w := newWorld(t)
	open := func(name string) (*bmi.Endpoint, *bmi.Context, bmi.Addr) {
		e, err := bmi.Open(context.Background(), bmi.Config{
			Listen: []string{"mem://" + name}, SpinMax: -1, Options: map[string]any{bmitest.Name: w.opt},
		})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, e.Close()) })
		c, err := e.OpenContext()
		require.NoError(t, err)
		a, err := e.Lookup("mem://" + name)
		require.NoError(t, err)
		return e, c, a
	}
	e, c, self := open("b")
	done := make(chan error)
	go func() {
		_, err := c.Recv(context.Background(), self, 1, nil)
		done <- err
	}()
	require.Eventually(t, func() bool { return e.Stats().Endpoint.Sleeps > 0 }, wallclock.Patience, time.Millisecond)
	require.NoError(t, c.Send(context.Background(), self, 1, nil))
	require.NoError(t, <-done)
}
