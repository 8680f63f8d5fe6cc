package secure

import (
	"errors"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// A Stack is TLS over another stack.
type Stack struct {
	inner stack.Stack
	cfg   *Config
	clock func() time.Duration

	// For the stack below, a token is an index into slots.
	slots []slot
	free  []stack.Token

	listeners []*listener // with an event for the owner
	starved   []*listener // full for now
	streams   []*stream   // with an event for the owner

	waiting   waiting
	shaking   int // streams of listeners whose handshakes are not finished
	lingering int // failed streams that the owner closed

	buffers [][]byte // empty buffers for outgoing
	scratch []byte   // scratch memory of one call
	running sync.WaitGroup

	notes notes
}

// A slot holds what a token of the stack below names: one of these, or none.
type slot struct {
	stream   *stream
	listener *listener
}

// sleeper is a Stack over one that supports sleeping.
type sleeper struct {
	*Stack
	below stack.Sleeper
}

// Over puts TLS over the streams of a stack. The result owns inner and closes it.
// It is a stack.Sleeper if inner is one.
func Over(inner stack.Stack, cfg *Config) (stack.Stack, error) {
	if cfg == nil || cfg.server == nil {
		return nil, errors.New("secure: a configuration comes from Files.Load or FromEnv")
	}
	t := &Stack{inner: inner, cfg: cfg, clock: cfg.Clock, scratch: make([]byte, recordBytesMax)}
	if t.clock == nil {
		start := time.Now()
		t.clock = func() time.Duration { return time.Since(start) }
	}
	below, ok := inner.(stack.Sleeper)
	if !ok {
		return t, nil
	}
	t.notes.wake = below.Wake
	return &sleeper{Stack: t, below: below}, nil
}

// KeyFiles implements stack.Reloader.
func (t *Stack) KeyFiles() []string { return t.cfg.from.names() }

// Reload implements stack.Reloader. Streams that exist keep their keys.
func (t *Stack) Reload() (use func(), err error) {
	old := t.cfg // only use changes it
	if old.from == (Files{}) {
		return nil, errors.New("secure: this configuration came from no files")
	}
	cfg, err := old.from.Load()
	switch {
	case err != nil:
		return nil, err
	case cfg.serverErr != nil && old.serverErr == nil:
		return nil, cfg.serverErr
	case cfg.clientErr != nil && old.clientErr == nil:
		return nil, cfg.clientErr
	}
	cfg.HandshakeTimeout, cfg.HandshakesMax, cfg.Clock, cfg.Inline = old.HandshakeTimeout, old.HandshakesMax, old.Clock, old.Inline
	return func() { t.cfg = cfg }, nil
}

func (t *Stack) handshakeTimeout() time.Duration {
	if t.cfg.HandshakeTimeout > 0 {
		return t.cfg.HandshakeTimeout
	}
	return HandshakeTimeout
}

func (t *Stack) handshakesMax() int {
	if t.cfg.HandshakesMax > 0 {
		return t.cfg.HandshakesMax
	}
	return HandshakesMax
}

// Name implements stack.Stack.
func (t *Stack) Name() string { return "TLS 1.3 over " + t.inner.Name() }

// Room implements stack.Limited.
func (t *Stack) Room() int {
	if below, ok := t.inner.(stack.Limited); ok {
		return below.Room()
	}
	return math.MaxInt
}

// Listen implements stack.Stack.
func (t *Stack) Listen(at netip.AddrPort, token stack.Token) (stack.Listener, error) {
	if t.cfg.serverErr != nil {
		return nil, t.cfg.serverErr
	}
	l := &listener{owner: t, token: token}
	l.slot = t.take(slot{listener: l})
	inner, err := t.inner.Listen(at, l.slot)
	if err != nil {
		t.give(l.slot)
		return nil, err
	}
	l.inner = inner
	return l, nil
}

// Dial implements stack.Stack.
func (t *Stack) Dial(to netip.AddrPort, token stack.Token) (stack.Stream, error) {
	if t.cfg.clientErr != nil {
		return nil, t.cfg.clientErr
	}
	s := t.newStream()
	s.token, s.taken = token, true
	inner, err := t.inner.Dial(to, s.slot)
	if err != nil {
		t.give(s.slot)
		return nil, err
	}
	s.inner = inner
	s.open()
	return s, nil
}

// Close implements stack.Stack.
func (t *Stack) Close() error {
	t.waiting.close()
	for _, one := range t.slots {
		if one.stream != nil {
			one.stream.abandon()
		}
	}
	// The goroutines of handshakes must end before the objects that they wake.
	t.running.Wait()
	t.notes.close()
	return t.inner.Close()
}

// take finds a free token for the stack below.
func (t *Stack) take(what slot) stack.Token {
	if n := len(t.free); n > 0 {
		token := t.free[n-1]
		t.free = t.free[:n-1]
		t.slots[token] = what
		return token
	}
	t.slots = append(t.slots, what)
	return stack.Token(len(t.slots) - 1)
}

func (t *Stack) give(token stack.Token) {
	t.slots[token] = slot{}
	t.free = append(t.free, token)
}
