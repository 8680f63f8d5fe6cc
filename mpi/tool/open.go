package tool

import (
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// An Interface is the tools interface of one process. There may be any number of them.
type Interface struct {
	p *mpi.Process

	mu        sync.Mutex
	closed    bool
	sessions  map[*Session]struct{}
	listeners map[*Listener]struct{}
	seen      []string // names of everything, when Changed looked last
	stamp     int
}

// Open opens the tools interface of a process (MPI_T_init_thread; MPI-4.1, 15.3.4). The process may
// have been finalized. The thread level is MPI_THREAD_MULTIPLE.
func Open(p *mpi.Process) (*Interface, error) {
	if p == nil {
		return nil, fail(ErrNotInitialized, "there is no process: call mpi.Init, or mpi.Run, before")
	}
	t := &Interface{p: p, sessions: make(map[*Session]struct{}), listeners: make(map[*Listener]struct{})}
	t.seen = t.names()
	return t, nil
}

// Close ends the Interface with its sessions and listeners (MPI_T_finalize; MPI-4.1, 15.3.4).
// Callbacks that run may return later.
func (t *Interface) Close() {
	t.mu.Lock()
	t.closed = true
	sessions, listeners := t.sessions, t.listeners
	t.sessions, t.listeners = nil, nil
	t.mu.Unlock()
	for s := range sessions {
		s.free()
	}
	for l := range listeners {
		l.end()
	}
}

// live returns an error after Close.
func (t *Interface) live() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return fail(ErrNotInitialized, "the tools interface is closed: open it again")
	}
	return nil
}

// A binding is an object and the source of its variables.
type binding struct {
	source about.Source
	index  int // of the source
	object any
}

// bindings returns the sources of an object: nil means the process.
func (t *Interface) bindings(object any) []binding {
	var all []binding
	for i, s := range about.Sources() {
		switch {
		case object == nil && s.Binding == about.Process:
			all = append(all, binding{s, i, t.p})
		case object != nil && s.Binding != about.Process:
			all = append(all, binding{s, i, object})
		}
	}
	return all
}

// counts returns what is measured of an object.
func (b binding) counts() []about.Count {
	if b.source.Counts == nil {
		return nil
	}
	return b.source.Counts(b.object)
}

// settings returns the settings of an object.
func (b binding) settings() []about.Setting {
	if b.source.Settings == nil {
		return nil
	}
	return b.source.Settings(b.object)
}
