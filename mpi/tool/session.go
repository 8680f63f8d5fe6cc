package tool

import (
	"slices"
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi/about"
)

// A Session is one reader's view of performance variables (MPI-4.1, 15.3.7): what it starts, stops
// and resets is so only for its own handles.
type Session struct {
	t *Interface

	mu      sync.Mutex
	freed   bool
	handles []*Handle
}

// A Handle is a performance variable in a session.
type Handle struct {
	Variable
	s *Session
	b binding

	// Guarded by Session.mu.
	freed   bool
	running bool
	at      int      // the variable's last known place among those of its source
	sum     []uint64 // counted in earlier runs
	base    []uint64 // the count when this run began
	mark    about.Watermark
	highest uint64 // of earlier runs, for a HighWatermark
}

// Session opens a session (MPI_T_pvar_session_create; MPI-4.1, 15.3.7).
func (t *Interface) Session() *Session {
	s := &Session{t: t}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		s.freed = true
		return s
	}
	t.sessions[s] = struct{}{}
	return s
}

// Free ends the session and its handles (MPI_T_pvar_session_free; MPI-4.1, 15.3.7).
func (s *Session) Free() {
	s.t.mu.Lock()
	delete(s.t.sessions, s)
	s.t.mu.Unlock()
	s.free()
}

func (s *Session) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freed = true
	for _, h := range s.handles {
		h.end()
	}
	s.handles = nil
}

// Handle makes a handle of a variable, whose value is 0 until it is started
// (MPI_T_pvar_get_index, MPI_T_pvar_handle_alloc; MPI-4.1, 15.3.7). object is the communicator or the
// window that the variable is bound to, and nil for others. Errors are ErrInvalidName,
// ErrInvalidHandle for an object that does not fit, and ErrInvalidSession.
func (s *Session) Handle(name string, object any) (*Handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.freed {
		return nil, fail(ErrInvalidSession, "the session is over: open another")
	}
	known := object == nil
	for _, b := range s.t.bindings(object) {
		counts := b.counts()
		known = known || len(counts) > 0
		i := slices.IndexFunc(counts, func(c about.Count) bool { return c.Name == name })
		if i < 0 {
			continue
		}
		h := &Handle{Variable: variableOf(b.source.Binding, counts[i]), s: s, b: b, sum: make([]uint64, len(counts[i].Values))}
		s.handles = append(s.handles, h)
		return h, nil
	}
	if !known {
		return nil, fail(ErrInvalidHandle, "a %T has no variables: give a communicator, a window, or nil", object)
	}
	return nil, s.t.unknown(name, object)
}

// unknown returns why an object has no variable of a name.
func (t *Interface) unknown(name string, object any) error {
	all, err := t.Performance()
	if err != nil {
		return err
	}
	for _, v := range all {
		if v.Name == name {
			return fail(ErrInvalidHandle, "%s is a variable of a %s, not of a %T", name, v.Binding, object)
		}
	}
	return fail(ErrInvalidName, "there is no performance variable %.80q; a method has some once it is open", name)
}

// Start starts all handles that can be started (MPI_T_pvar_start; MPI-4.1, 15.3.7).
func (s *Session) Start() error { return s.each((*Handle).start) }

// Stop stops all handles that can be stopped (MPI_T_pvar_stop; MPI-4.1, 15.3.7).
func (s *Session) Stop() error { return s.each((*Handle).stop) }

// Reset resets all handles that can be reset (MPI_T_pvar_reset; MPI-4.1, 15.3.7).
func (s *Session) Reset() error { return s.each((*Handle).reset) }

// each does something with all handles that are not continuous, at one moment for all of an object.
func (s *Session) each(do func(h *Handle, now snapshot)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.freed {
		return fail(ErrInvalidSession, "the session is over: open another")
	}
	now := make(snapshot)
	for _, h := range s.handles {
		if !h.Continuous {
			do(h, now)
		}
	}
	return nil
}

// Read returns the values of all handles, in the order in which the handles were made. All values of
// one object are read at one moment.
func (s *Session) Read() ([][]uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.freed {
		return nil, fail(ErrInvalidSession, "the session is over: open another")
	}
	now := make(snapshot)
	all := make([][]uint64, len(s.handles))
	for i, h := range s.handles {
		all[i] = h.value(now)
	}
	return all, nil
}

// A snapshot is what is measured of some objects at one moment.
type snapshot map[snapshotKey][]about.Count

type snapshotKey struct {
	source int
	object any
}

// of returns the count of a handle; one without values if it is gone.
func (now snapshot) of(h *Handle) about.Count {
	key := snapshotKey{h.b.index, h.b.object}
	counts, ok := now[key]
	if !ok {
		counts = h.b.counts()
		now[key] = counts
	}
	if h.at >= len(counts) || counts[h.at].Name != h.Name { // other variables have come, or gone
		h.at = slices.IndexFunc(counts, func(c about.Count) bool { return c.Name == h.Name })
		if h.at < 0 {
			h.at = 0
			return about.Count{}
		}
	}
	return counts[h.at]
}
