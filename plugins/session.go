package plugins

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/arena"
	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
	"github.com/viaduct-hpc/viaduct/internal/plugins/host"
	"github.com/viaduct-hpc/viaduct/internal/plugins/segment"
)

// waitMax is how long an operation or a call waits for a process to replace one that died. Together
// with the time to notice the death, this is less than the second that the documentation promises.
const waitMax = 800 * time.Millisecond

// A session is a method of a plugin that an endpoint has open. It outlives the plugin's process,
// and is opened again in the next one.
//
// The supervisor leaves its news in the mailbox and wakes the endpoint. Poll, which has the engine
// lock, takes them out.
type session struct {
	plugin  *Plugin
	names   names
	options map[string]string
	cfg     bmi.MethodConfig
	first   *opened // the first answer to Open
	listen  []string

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	arena   *segment.Arena
	arenaFD int
	bell    *bell.Bell // wakes the endpoint

	pinging atomic.Bool
	closing atomic.Bool

	mailbox

	// Guarded by the engine lock.
	inner    *host.Method
	attached *attachment // nil if there is no plugin
	why      error       // why there is no plugin
	over     bool        // there will be no plugin any more
	retryAt  time.Duration
	backoff  time.Duration
	polling  bool              // within Poll of inner, whose handlers may post
	resolved map[string]string // canonical texts, by what was looked up
}

var (
	_ bmi.Method    = (*session)(nil)
	_ bmi.Sleeper   = (*session)(nil)
	_ bmi.Deadliner = (*session)(nil)
	_ bmi.Allocator = (*session)(nil)
	_ bmi.Dropper   = (*session)(nil)
	_ bmi.Checker   = (*session)(nil)
	_ bmi.Ranger    = (*session)(nil)
	_ bmi.Statser   = (*session)(nil)
)

// Open implements bmi.Driver. The options of a plugin's method are a map[string]string.
//
// Memory of Alloc is shared with the plugin. As with other methods that have memory of their own,
// it belongs to the endpoint: memory that was not freed with Free is unmapped when the endpoint is
// closed.
func (d *driver) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	s := &session{plugin: d.plugin, names: d.names, cfg: cfg, listen: cfg.Listen, arenaFD: -1, resolved: make(map[string]string)}
	switch o := cfg.Options.(type) {
	case nil:
	case map[string]string:
		s.options = o
	default:
		return nil, fmt.Errorf("%w: options of type %T, a plugin's method takes map[string]string", bmi.ErrInvalid, o)
	}
	s.ctx, s.cancel = context.WithCancel(d.plugin.ctx)
	in, err := d.plugin.running(ctx, d.plugin.opts.waits.next)
	if err != nil {
		s.cancel()
		return nil, err
	}
	if err := s.open(ctx, in); err != nil {
		return nil, errors.Join(err, s.free())
	}
	d.plugin.adopt(s, in)
	return s.method(), nil
}

// open makes everything that the session keeps until Close, and opens it for the first time.
func (s *session) open(ctx context.Context, in *incarnation) (err error) {
	if s.arena, s.arenaFD, err = segment.CreateArena(s.plugin.opts.ArenaBytes); err != nil {
		return err
	}
	if s.bell, err = bell.New(); err != nil {
		return err
	}
	pieces, err := arena.New(s.arena.Mem)
	if err != nil {
		return err
	}
	at, what, err := s.attach(ctx, in, s.listen)
	if err != nil {
		return err
	}
	s.first, s.attached, s.current = what, at, at
	if len(s.listen) > 0 && len(what.info.Addresses) > 0 {
		s.listen = what.info.Addresses // the system may have chosen a port
	}
	s.inner = host.New(s.config(pieces))
	s.inner.Attach(at.line)
	return nil
}

func (s *session) config(pieces *arena.Arena) host.Config {
	return host.Config{
		Host: s.cfg.Host, Info: s.first.info, Name: s.plugin.opts.Name, Arena: pieces,
		Resolve: s.resolve, Check: s.check, InRange: s.inRange, Close: s.closeThere,
		ToPlugin: s.names.toPlugin, FromPlugin: s.names.fromPlugin,
		Due:    func() time.Duration { return s.cfg.Clock() + s.plugin.opts.waits.next },
		Broken: func(err error) { s.attached.in.kill(fmt.Errorf("plugin %s was killed: %w", s.plugin.opts.Name, err)) },
	}
}

// adopt puts a session under the supervisor's care.
func (p *Plugin) adopt(s *session, in *incarnation) {
	p.mu.Lock()
	p.sessions[s] = struct{}{}
	gone, state, err := in.gone.Load(), p.state, p.err
	p.mu.Unlock()
	if gone { // it died before the supervisor knew the session
		if err == nil {
			err = in.death()
		}
		s.lost(err, state == Dead || state == Unloaded)
		p.poke()
	}
}

// Info implements bmi.Method.
func (s *session) Info() bmi.Info { return s.first.info }

// forget removes a closed session from the list.
func (p *Plugin) forget(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s)
}

// PostSend implements bmi.Method.
func (s *session) PostSend(op *bmi.Op) {
	if s.may(op) {
		s.inner.PostSend(op)
	}
}

// PostRecv implements bmi.Method.
func (s *session) PostRecv(op *bmi.Op) {
	if s.may(op) {
		s.inner.PostRecv(op)
	}
}

// may reports whether an operation can go on: a plugin is attached to the session, or is expected to be. Otherwise it completes the
// operation with the error s.why.
func (s *session) may(op *bmi.Op) bool {
	if s.full.Load() && !s.polling {
		s.takeNews()
	}
	if s.attached == nil && (s.over || s.retryAt != 0 && !s.retry()) {
		op.Complete(0, s.why)
		return false
	}
	return true
}

// retry asks the plugin again to open the session if it refused and the backoff has passed. It
// reports whether it asked.
func (s *session) retry() bool {
	if s.retryAt == 0 || s.cfg.Clock() < s.retryAt {
		return false
	}
	s.retryAt = 0
	s.askAgain()
	return true
}

// Cancel implements bmi.Method.
func (s *session) Cancel(op *bmi.Op) { s.inner.Cancel(op) }

// Poll implements bmi.Method.
func (s *session) Poll() bool {
	did := s.full.Load() && s.takeNews()
	if s.attached == nil {
		did = s.inner.Expire(s.cfg.Clock(), s.why) || did
	}
	return s.pollInner() || did
}

// pollInner polls the method. It does not run twice at once, because a Poll may be reading the
// rings: Close may be called while a Poll waits for a handler.
func (s *session) pollInner() bool {
	if s.polling {
		return false
	}
	s.polling = true
	did := s.inner.Poll()
	s.polling = false
	return did
}

// Arm implements bmi.Sleeper.
func (s *session) Arm() bool { return !s.full.Load() && s.inner.Arm() }

// Disarm implements bmi.Sleeper.
func (s *session) Disarm() { s.inner.Disarm() }

// Sleep implements bmi.Sleeper.
func (s *session) Sleep(timeout time.Duration) {
	_ = s.bell.Wait(timeout) // waiting for our own descriptor cannot fail
}

// NextDeadline implements bmi.Deadliner: operations wait for a plugin only for a limited time. If
// there is work that waits for room in the rings, the deadline is now, because no bell tells when
// there is room again.
func (s *session) NextDeadline() (time.Duration, bool) {
	if s.inner.Pressing() {
		return s.cfg.Clock(), true
	}
	return s.inner.NextDue()
}

// Alloc implements bmi.Allocator.
func (s *session) Alloc(size int) ([]byte, error) { return s.inner.Alloc(size) }

// Free implements bmi.Allocator.
func (s *session) Free(mem []byte) error { return s.inner.Free(mem) }

// Drop implements bmi.Dropper.
func (s *session) Drop(p bmi.Peer) { s.inner.Drop(p) }

// free releases the session's system resources.
func (s *session) free() error {
	var errs []error
	if s.attached != nil {
		errs = append(errs, s.attached.release())
		s.attached = nil
	}
	if s.arena != nil {
		errs = append(errs, s.arena.Close(), unix.Close(s.arenaFD))
	}
	s.cancel()
	s.mailbox.Lock()
	defer s.mailbox.Unlock()
	s.closed = true // the bell must not be rung any more
	if s.bell != nil {
		errs = append(errs, s.bell.Close())
	}
	return errors.Join(errs...)
}
