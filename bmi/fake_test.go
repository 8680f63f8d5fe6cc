package bmi_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// fake is a method whose behaviour a test sets field by field. It supports
// sleeping, has deadlines, and checks that it is called as bmi/method.go
// promises.
type fake struct {
	t    testing.TB
	host bmi.Host
	addr bmi.Addr

	// Guarded by the engine lock, as everything in a method is.
	posted  []*bmi.Op
	armed   bool
	polling bool
	closed  bool

	poll     func(*fake) bool             // called by Poll
	post     func(*fake, *bmi.Op)         // called by PostSend; nil: keep
	now      func(head, body []byte) bool // called by SendNow; nil: false
	nowBytes int
	next     func() (time.Duration, bool) // NextDeadline
	cancel   func(*fake, *bmi.Op)         // nil: complete with ErrCancelled
	refuses  bool                         // Arm always reports that something is there
	leaves   bool                         // Close completes nothing
	files    bool                         // Info says FileSends
	clock    func() time.Duration
	mu       sync.Mutex // guards the fields below, which tests read
	sleeping bool
	sleeps   []time.Duration
	polls    int
	wake     chan struct{}
}

type fakeDriver struct{}

func init() { bmi.Register(fakeDriver{}) }

func (fakeDriver) Name() string { return "fake" }
func (fakeDriver) Open(_ context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	f, ok := cfg.Options.(*fake)
	if !ok {
		return nil, fmt.Errorf("%w: no fake in the options", bmi.ErrInvalid)
	}
	f.host, f.clock = cfg.Host, cfg.Clock
	f.addr = cfg.Host.NewAddr(fakePeer{})
	cfg.Host.Wake() // allowed at any time
	return f, nil
}

type fakePeer struct{}

func (fakePeer) String() string { return "fake://peer" }

// open opens an endpoint over f alone.
func (f *fake) open(t testing.TB, cfg bmi.Config) *side {
	f.t, f.wake = t, make(chan struct{}, 1)
	cfg.Methods = append(cfg.Methods, "fake")
	cfg.Options = map[string]any{"fake": f}
	e, err := bmi.Open(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	c, err := e.OpenContext()
	require.NoError(t, err)
	a, err := e.Lookup("fake://peer")
	require.NoError(t, err)
	return &side{t, e, c, a}
}

// must fails the test; any goroutine that calls the method may call it.
func (f *fake) must(ok bool, text string) {
	if !ok || f.closed {
		f.t.Errorf("fake: %s (closed: %v)", text, f.closed)
	}
}

func (f *fake) Info() bmi.Info {
	return bmi.Info{Name: "another name", MaxExpectedSize: 100, MaxUnexpectedSize: 100, MaxPieces: 2, FileSends: f.files}
}

func (f *fake) Resolve(address string) (bmi.Addr, error) {
	if address == "fake://nothing" {
		return bmi.Addr{}, nil
	}
	return f.addr, nil
}

func (f *fake) PostSend(op *bmi.Op) {
	f.must(op.Private == nil, "Private is not nil")
	if f.post != nil {
		f.post(f, op)
		return
	}
	f.posted = append(f.posted, op)
}

// PostSendFile implements bmi.FileSender.
func (f *fake) PostSendFile(op *bmi.Op) {
	f.must(f.files, "PostSendFile of a method that does not offer it")
	f.PostSend(op)
}

// SendNow implements bmi.NowSender.
func (f *fake) SendNow(to bmi.Peer, kind bmi.Kind, _ bmi.Class, _ bmi.Tag, head, body []byte) bool {
	f.must(to == bmi.Peer(fakePeer{}), "SendNow to another peer")
	f.must(kind == bmi.KindSend || kind == bmi.KindSendUnexpected, "SendNow of a receive")
	return f.now != nil && f.now(head, body)
}

// NowBytes implements bmi.NowSender.
func (f *fake) NowBytes() int { return f.nowBytes }

func (f *fake) PostRecv(op *bmi.Op) {
	f.must(op.Private == nil, "Private is not nil")
	f.posted = append(f.posted, op)
}

// Drop implements bmi.Dropper: the fake keeps nothing of its peers.
func (f *fake) Drop(bmi.Peer) {}

func (f *fake) Cancel(op *bmi.Op) {
	if f.cancel != nil {
		f.cancel(f, op)
		return
	}
	f.complete(op, bmi.ErrCancelled)
}

// complete ends one operation, or the oldest if op is nil.
func (f *fake) complete(op *bmi.Op, err error) {
	for i, p := range f.posted {
		if op == nil || op == p {
			f.posted = append(f.posted[:i], f.posted[i+1:]...)
			p.Private = "used"
			p.Complete(p.Size, err)
			return
		}
	}
}

func (f *fake) Poll() bool {
	f.must(!f.polling, "Poll entered twice")
	f.polling = true
	f.mu.Lock()
	f.polls++
	f.mu.Unlock()
	happened := f.poll != nil && f.poll(f)
	f.polling = false
	return happened
}

func (f *fake) Close(context.Context) error {
	f.must(!f.polling, "closed within Poll")
	f.mu.Lock()
	f.must(!f.sleeping && !f.armed, "closed while somebody sleeps")
	f.mu.Unlock()
	for len(f.posted) > 0 && !f.leaves {
		f.complete(nil, bmi.ErrClosed)
	}
	f.closed = true
	return nil
}

func (f *fake) Arm() bool {
	f.must(!f.armed, "armed twice")
	f.armed = true
	return !f.refuses
}

func (f *fake) Disarm() {
	f.must(f.armed, "disarmed without Arm")
	f.armed = false
}

func (f *fake) Sleep(d time.Duration) {
	f.mu.Lock()
	if f.sleeping {
		f.t.Error("fake: two sleep at once")
	}
	f.sleeping = true
	f.sleeps = append(f.sleeps, d)
	f.mu.Unlock()
	if d < 0 {
		<-f.wake
	} else {
		select {
		case <-f.wake:
		case <-time.After(d):
		}
	}
	f.mu.Lock()
	f.sleeping = false
	f.mu.Unlock()
}

func (f *fake) Wake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *fake) NextDeadline() (time.Duration, bool) {
	if f.next == nil {
		return 0, false
	}
	return f.next()
}

// limitedSleep is the last sleep that had a limit; 0 if there was none.
func (f *fake) limitedSleep() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range slices.Backward(f.sleeps) {
		if d > 0 {
			return d
		}
	}
	return 0
}

// asleep reports whether a goroutine sleeps on the method.
func (f *fake) asleep() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sleeping
}

func (f *fake) polled() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.polls
}
