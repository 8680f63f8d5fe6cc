package simtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/via/ops"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// scene is a few endpoints over simulated NICs, in virtual time.
type scene struct {
	t     *testing.T
	world *sim.World
	nics  *simnic.World
	cast  []*player
	wrap  func(nic.Provider) nic.Provider // of the NICs of players; nil: as they are
}

// player is one endpoint of a scene, with a context and what completed in it.
type player struct {
	*bmi.Endpoint
	s    *scene
	ctx  *bmi.Context
	done map[any]bmi.Completion // by user value
}

func newScene(t *testing.T, opts simnic.Options) *scene {
	world := sim.New(sim.Options{Seed: 1})
	return &scene{t: t, world: world, nics: simnic.New(world, opts)}
}

// open opens an endpoint; without a name it only connects.
func (s *scene) open(name string, caps nic.Caps, opts via.Options) *player {
	opts.Seed = uint64(len(s.cast) + 1)
	opts.Idle = s.nics.Idle
	var provider nic.Provider = s.nics.Provider(caps)
	if s.wrap != nil {
		provider = s.wrap(provider)
	}
	cfg := bmi.Config{
		Manual: true, Clock: s.nics.Clock, Methods: []string{"via+sim"},
		Options: map[string]any{"via+sim": simOptions{provider, opts}},
	}
	if name != "" {
		cfg.Listen = []string{"via+sim://" + name}
	}
	e, err := bmi.Open(context.Background(), cfg)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = e.Close() })
	p := &player{Endpoint: e, s: s, done: make(map[any]bmi.Completion)}
	p.ctx, err = e.OpenContext()
	require.NoError(s.t, err)
	s.cast = append(s.cast, p)
	return p
}

// play lets virtual time pass until done, or d is over; it reports which.
func (s *scene) play(d time.Duration, done func() bool) bool {
	for end := s.world.Now() + d; s.world.Now() < end; {
		for range ops.HousekeepingPolls {
			for _, p := range s.cast {
				p.test()
			}
		}
		if done() {
			return true
		}
		if !s.world.Step() {
			s.world.RunFor(time.Millisecond)
		}
	}
	return false
}

func never() bool { return false }

func (p *player) test() {
	var out [16]bmi.Completion
	n, err := p.ctx.TestContext(out[:], 0)
	if err != nil {
		return // closed
	}
	for _, c := range out[:n] {
		p.done[c.User] = c
	}
}

func (p *player) to(name string) bmi.Addr {
	a, err := p.Lookup("via+sim://" + name)
	require.NoError(p.s.t, err)
	return a
}

func (p *player) posted(x bmi.Posted, err error, user any) bmi.OpID {
	require.NoError(p.s.t, err)
	if x.Done {
		p.done[user] = bmi.Completion{User: user, Size: x.Size}
	}
	return x.Op
}

func (p *player) send(to bmi.Addr, tag bmi.Tag, buf []byte, user any) bmi.OpID {
	x, err := p.ctx.PostSend(to, tag, buf, user)
	return p.posted(x, err, user)
}

func (p *player) recv(from bmi.Addr, tag bmi.Tag, buf []byte, user any) bmi.OpID {
	x, err := p.ctx.PostRecv(from, tag, buf, user)
	return p.posted(x, err, user)
}

func (p *player) unexpected(to bmi.Addr, buf []byte, user any) bmi.OpID {
	x, err := p.ctx.PostSendUnexpected(to, 0, 1, buf, user)
	return p.posted(x, err, user)
}

func (p *player) completed(user any) func() bool {
	return func() bool { _, ok := p.done[user]; return ok }
}

// wait plays until the operation has completed.
func (p *player) wait(user any) bmi.Completion {
	p.s.t.Helper()
	require.True(p.s.t, p.s.play(30*time.Second, p.completed(user)), "%v does not complete", user)
	return p.done[user]
}

// join connects two players by one message.
func join(a, b *player, bName, aName string) {
	a.send(a.to(bName), 0, []byte("hello"), "hello")
	b.recv(b.to(aName), 0, make([]byte, 5), "hello")
	require.NoError(a.s.t, b.wait("hello").Err)
	require.NoError(a.s.t, a.wait("hello").Err)
}

func TestCancelledSendToSelfIsNotReceived(t *testing.T) {
	s := newScene(t, simnic.Options{})
	a := s.open("a", simnic.DefaultCaps(), via.Options{})
	self := a.to("a")
	op := a.send(self, 1, []byte("first"), "cancelled")
	require.NoError(t, a.ctx.Cancel(op))
	require.ErrorIs(t, a.wait("cancelled").Err, bmi.ErrCancelled)
	a.send(self, 2, []byte("second"), "second")
	a.recv(self, 1, make([]byte, 10), "one")
	buf := make([]byte, 10)
	a.recv(self, 2, buf, "two")
	require.NoError(t, a.wait("two").Err)
	assert.Equal(t, "second", string(buf[:6]))
	assert.False(t, a.completed("one")(), "a receive met a message of another tag")
}

func TestDropOfSelfEndsItsSends(t *testing.T) {
	s := newScene(t, simnic.Options{})
	a := s.open("a", simnic.DefaultCaps(), via.Options{})
	a.send(a.to("a"), 1, []byte("first"), "dropped")
	require.NoError(t, a.DropAddr(a.to("a")))
	require.ErrorIs(t, a.wait("dropped").Err, bmi.ErrDropped)
}

// A handler that answers every message to itself with another one must not keep
// Poll from everything else.
func TestHandlerThatSendsToSelfLetsPollReturn(t *testing.T) {
	s := newScene(t, simnic.Options{})
	a := s.open("a", simnic.DefaultCaps(), via.Options{})
	self, calls := a.to("a"), 0
	require.NoError(t, a.Handle(0, func(m bmi.Message) {
		if calls++; calls < 10000 {
			a.unexpected(self, m.Data, calls)
		}
	}))
	a.unexpected(self, []byte("again"), 0)
	a.test()
	assert.Less(t, calls, 10)
	require.True(t, s.play(time.Minute, func() bool { return calls == 10000 }))
}

func TestUnexpectedOverThePeersLimitFailsAlone(t *testing.T) {
	s := newScene(t, simnic.Options{})
	a := s.open("a", simnic.DefaultCaps(), via.Options{})
	b := s.open("b", simnic.DefaultCaps(), via.Options{EagerBytes: 1024})
	join(a, b, "b", "a")
	a.recv(a.to("b"), 9, make([]byte, 1), "innocent")
	a.unexpected(a.to("b"), make([]byte, 1025), "over")
	require.ErrorIs(t, a.wait("over").Err, bmi.ErrTooLarge)
	a.unexpected(a.to("b"), make([]byte, 1024), "at the limit")
	require.NoError(t, a.wait("at the limit").Err)
	s.play(10*time.Millisecond, never)
	assert.False(t, a.completed("innocent")())
	assert.Zero(t, b.Stats().Methods[0].Errors.Protocol)
}

// What is posted while the operations of the last connection drain goes over
// the next one.
func TestPostsWhileDisconnectDrains(t *testing.T) {
	s := newScene(t, simnic.Options{SendDelayMax: 2 * time.Millisecond, PostDelayMax: time.Millisecond})
	a := s.open("a", simnic.DefaultCaps(), via.Options{})
	b := s.open("b", simnic.DefaultCaps(), via.Options{})
	join(a, b, "b", "a")
	b.send(b.to("a"), 3, []byte("early"), "early")
	require.NoError(t, b.wait("early").Err)
	s.play(10*time.Millisecond, never)

	op := a.send(a.to("b"), 1, make([]byte, 1000), "cancelled")
	require.NoError(t, a.ctx.Cancel(op))
	require.Equal(t, "DISCONNECT", a.Stats().Peers[0].State, "the scene does not show what it should")
	buf := make([]byte, 5)
	a.recv(a.to("b"), 3, buf, "queued receive")
	a.send(a.to("b"), 2, []byte("next"), "queued send")
	require.ErrorIs(t, a.wait("cancelled").Err, bmi.ErrCancelled)
	require.NoError(t, a.wait("queued send").Err)
	require.NoError(t, a.wait("queued receive").Err)
	assert.Equal(t, "early", string(buf), "a queued receive passed by a message that was there first")
}

func TestReceiveFromAClientThatIsGoneFails(t *testing.T) {
	s := newScene(t, simnic.Options{})
	b := s.open("b", simnic.DefaultCaps(), via.Options{})
	client := s.open("", simnic.DefaultCaps(), via.Options{})
	client.unexpected(client.to("b"), []byte("hi"), "hi")
	var u [1]bmi.Unexpected
	require.True(t, s.play(time.Second, func() bool { n, _ := b.TestUnexpected(u[:], 0); return n == 1 }))
	from := u[0].From
	u[0].Release()
	require.NoError(t, client.Close())
	s.cast = s.cast[:1]
	s.play(100*time.Millisecond, never)
	b.recv(from, 1, make([]byte, 10), "too late")
	require.ErrorIs(t, b.wait("too late").Err, bmi.ErrUnreachable)
}

func TestRDMAIsUsedAsFarAsBothNICsHaveIt(t *testing.T) {
	for i := range 16 {
		a, b := simnic.DefaultCaps(), simnic.DefaultCaps()
		a.RDMARead, a.RDMAWrite, b.RDMARead, b.RDMAWrite = i&1 > 0, i&2 > 0, i&4 > 0, i&8 > 0
		t.Run(fmt.Sprintf("%04b", i), func(t *testing.T) {
			s := newScene(t, simnic.Options{})
			pa, pb := s.open("a", a, via.Options{}), s.open("b", b, via.Options{})
			for _, size := range []int{20000, 200000} {
				pa.send(pa.to("b"), 1, make([]byte, size), size)
				pb.recv(pb.to("a"), 1, make([]byte, size), size)
				require.NoError(t, pb.wait(size).Err)
				require.NoError(t, pa.wait(size).Err)
			}
		})
	}
}

func TestSplitOfAFewBytes(t *testing.T) {
	s := newScene(t, simnic.Options{})
	opts := via.Options{EagerBytes: 10, SplitBytes: 1}
	a, b := s.open("a", simnic.DefaultCaps(), opts), s.open("b", simnic.DefaultCaps(), opts)
	for _, size := range []int{11, 127, 128, 129} {
		a.send(a.to("b"), 1, make([]byte, size), size)
		b.recv(b.to("a"), 1, make([]byte, size), size)
		require.NoError(t, b.wait(size).Err)
		require.NoError(t, a.wait(size).Err)
	}
}

// A large message whose receive is posted arrives although the peer has exceeded its limit of
// messages that are not received.
func TestWithheldCreditsDoNotStopTransfersUnderWay(t *testing.T) {
	caps := simnic.DefaultCaps()
	caps.RDMARead, caps.RDMAWrite = false, false
	s := newScene(t, simnic.Options{})
	a, b := s.open("a", caps, via.Options{}), s.open("b", caps, via.Options{})
	b.recv(b.to("a"), 1, make([]byte, 1<<20), "large")
	for i := range 4000 {
		a.send(a.to("b"), 2, make([]byte, 2000), i)
		if i == 1950 { // the limit is near
			a.send(a.to("b"), 1, make([]byte, 1<<20), "large")
		}
	}
	require.NoError(t, b.wait("large").Err)
	assert.Less(t, b.Stats().Methods[0].EarlyMessages, 4000, "the scene does not show what it should: no credit was withheld")
}

func TestCloseSendsWhatWasAccepted(t *testing.T) {
	caps := simnic.DefaultCaps()
	caps.UnregisteredSend, caps.CopiesOnPost = false, false
	s := newScene(t, simnic.Options{PostDelayMax: 5 * time.Millisecond})
	a, b := s.open("a", caps, via.Options{}), s.open("b", caps, via.Options{})
	join(a, b, "b", "a")
	b.recv(b.to("a"), 1, make([]byte, 4), "last")
	a.send(a.to("b"), 1, []byte("last"), "last")
	require.True(t, a.completed("last")(), "the scene does not show what it should: the NIC copies, so the send is done")
	require.NoError(t, a.Close())
	s.cast = s.cast[1:]
	require.NoError(t, b.wait("last").Err)
}
