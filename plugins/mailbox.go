package plugins

import (
	"errors"
	"sync"
	"sync/atomic"
)

// A mailbox is the state that the supervisor and a session share. It is guarded by its lock, which
// is never held during a wait.
type mailbox struct {
	sync.Mutex
	current *attachment   // the plugin to ask; nil if there is none
	changed chan struct{} // closed and replaced when current changes; nil if no goroutine waits
	opening bool          // a goroutine is about to open the session again
	last    error         // why there is no plugin
	failed  bool          // the plugin runs, but could not open the session
	final   bool          // there will be no plugin any more
	closed  bool          // the session is closed

	// News that Poll has not taken yet, in order; full is set if there are any.
	full    atomic.Bool
	down    error       // the plugin died
	up      *attachment // the next one replaced it
	refused error       // the next one could not open the session
}

func (m *mailbox) changedLocked() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// waitLocked returns a channel that is closed when something changes.
func (m *mailbox) waitLocked() <-chan struct{} {
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed
}

// lost tells the session that its plugin is dead, and that none will follow if final is set.
func (s *session) lost(err error, final bool) {
	s.mailbox.Lock()
	if s.closed || s.final {
		s.mailbox.Unlock()
		return
	}
	unused := s.up
	s.current, s.up, s.refused, s.failed = nil, nil, nil, false
	s.down, s.last, s.final = err, err, final
	s.full.Store(true)
	s.changedLocked()
	s.mailbox.Unlock()
	if unused != nil {
		s.released(unused)
	}
	s.cfg.Host.Wake()
}

// wants reports whether the session must be opened again. If it does, the caller opens it.
func (s *session) wants() bool {
	s.mailbox.Lock()
	defer s.mailbox.Unlock()
	if s.current != nil || s.opening || s.failed || s.final || s.closing.Load() {
		return false
	}
	s.opening = true
	return true
}

// reopen opens the session in another incarnation.
func (s *session) reopen(in *incarnation) {
	at, what, err := s.attach(s.ctx, in, s.listen)
	if err == nil {
		if err = what.replaces(s.first); err != nil {
			at.forget(s.plugin)
			s.released(at)
		}
	}
	s.mailbox.Lock()
	s.opening = false
	late := in.gone.Load() || s.final || s.ctx.Err() != nil // closed, or the plugin is being unloaded
	died := errors.Is(err, ErrDied)
	switch {
	case late || died:
	case err == nil:
		s.current, s.up, s.last = at, at, nil
		s.full.Store(true)
	default:
		s.failed, s.refused, s.last = true, err, err
		s.full.Store(true)
	}
	s.changedLocked()
	s.mailbox.Unlock()
	if late && err == nil {
		at.forget(s.plugin)
		s.released(at)
	}
	if late {
		s.plugin.poke() // another incarnation may be there already
	}
	if err != nil && !late && !died {
		s.cfg.Log.Warn("an endpoint could not be opened again", "plugin", s.plugin.opts.Name, "error", err)
	}
	s.cfg.Host.Wake()
}

// askAgain requests another attempt to open a session that the plugin refused.
func (s *session) askAgain() {
	s.mailbox.Lock()
	s.failed = false
	s.mailbox.Unlock()
	s.plugin.poke()
}

// toPing returns the attachment to ping, or nil if a ping is in progress or the session uses
// another incarnation.
func (s *session) toPing(in *incarnation) *attachment {
	if s.closing.Load() || s.pinging.Swap(true) {
		return nil
	}
	s.mailbox.Lock()
	defer s.mailbox.Unlock()
	if s.current == nil || s.current.in != in {
		s.pinging.Store(false)
		return nil
	}
	return s.current
}

// serves reports whether the session uses an attachment.
func (s *session) serves(at *attachment) bool {
	s.mailbox.Lock()
	defer s.mailbox.Unlock()
	return s.current == at && !s.closing.Load()
}

// takeNews acts on the news. The caller has the engine lock.
func (s *session) takeNews() bool {
	s.mailbox.Lock()
	down, up, refused, final := s.down, s.up, s.refused, s.final
	s.down, s.up, s.refused = nil, nil, nil
	s.full.Store(false)
	s.mailbox.Unlock()
	if down != nil {
		s.detach(down)
		if final {
			s.over = true
			s.inner.GiveUp(down)
		}
	}
	if refused != nil {
		s.backoff = min(max(2*s.backoff, s.plugin.opts.Backoff), s.plugin.opts.BackoffMax)
		s.why, s.retryAt = refused, s.cfg.Clock()+s.backoff
		s.inner.GiveUp(refused)
	}
	if up != nil {
		s.attached, s.why, s.retryAt, s.backoff = up, nil, 0, 0
		s.inner.Attach(up.line)
	}
	return true
}

// detach takes the plugin and the memory of its rings away from the method.
func (s *session) detach(err error) {
	at := s.attached
	if at != nil && at.pump != nil {
		at.pump.Close() // it reads the memory of operations
	}
	s.attached, s.why = nil, err
	s.inner.Detach(err)
	if at != nil {
		s.released(at)
	}
}

// released frees the memory of an attachment. An error can only be a bug in this package, and is
// logged.
func (s *session) released(at *attachment) {
	if err := at.release(); err != nil {
		s.cfg.Log.Error("memory shared with a plugin could not be given back", "plugin", s.plugin.opts.Name, "error", err)
	}
}

// Wake implements bmi.Sleeper. It may be called from any goroutine, and after Close.
func (s *session) Wake() {
	s.mailbox.Lock()
	defer s.mailbox.Unlock()
	if !s.closed {
		s.bell.Ring()
	}
}
