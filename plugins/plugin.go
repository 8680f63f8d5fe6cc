package plugins

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// State is what becomes of a plugin.
//
//	Running ──dies──▶ Restarting ──too often──▶ Dead
//	   ◀──a new process──┘  │                    │
//	   └──────── Unload ────┴─────▶ Unloaded ◀───┘
type State uint8

const (
	// Running: its process answers.
	Running State = iota
	// Restarting: its process died, another one is about to take its place.
	Restarting
	// Dead: it died too often, and stays dead until it is unloaded and loaded again.
	Dead
	// Unloaded: it is gone for good.
	Unloaded
)

func (s State) String() string {
	names := [...]string{Running: "running", Restarting: "restarting", Dead: "dead", Unloaded: "unloaded"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// A Plugin is a loaded plugin. Its methods may be called by any goroutine.
type Plugin struct {
	opts    Options
	log     *slog.Logger
	path    string
	methods []names
	drivers []*driver

	ctx    context.Context // ends with Unload
	cancel context.CancelFunc
	kick   chan struct{}  // a session wants to be opened again
	ended  chan struct{}  // the supervisor returned
	tasks  sync.WaitGroup // goroutines besides the supervisor

	unloading sync.Mutex

	mu       sync.Mutex
	state    State
	err      error         // why it is not Running
	in       *incarnation  // the latest
	changed  chan struct{} // closed, and replaced, with each change of state
	restarts int
	waiting  bool // Unload waits for the tasks
	sessions map[*session]struct{}
}

// Name is Options.Name.
func (p *Plugin) Name() string { return p.opts.Name }

// Path is the file.
func (p *Plugin) Path() string { return p.path }

// Version is what the plugin says that it is, for people; a restart may change it.
func (p *Plugin) Version() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in.version
}

// PID is the number of its process, or of its latest one.
func (p *Plugin) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in.proc.PID()
}

// Methods are the names that its methods are registered under.
func (p *Plugin) Methods() []string {
	var all []string
	for _, n := range p.methods {
		all = append(all, n.registered)
	}
	return all
}

// State is what it does now.
func (p *Plugin) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Err is why it is not Running, or nil.
func (p *Plugin) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Restarts counts how often another process took the place of one that died.
func (p *Plugin) Restarts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restarts
}

// become is the only writer of the state.
func (p *Plugin) become(s State, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.becomeLocked(s, err)
}

func (p *Plugin) becomeLocked(s State, err error) {
	p.state, p.err = s, err
	close(p.changed)
	p.changed = make(chan struct{})
}

// running waits for the plugin to run, at most for limit.
func (p *Plugin) running(ctx context.Context, limit time.Duration) (*incarnation, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		p.mu.Lock()
		state, err, in, changed := p.state, p.err, p.in, p.changed
		p.mu.Unlock()
		switch {
		case state == Running:
			return in, nil
		case state != Restarting:
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// spawn runs a task beside the supervisor. Unload waits for those that were begun before.
func (p *Plugin) spawn(task func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting {
		go task()
		return
	}
	p.tasks.Go(task)
}

// all are the sessions.
func (p *Plugin) all() []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*session, 0, len(p.sessions))
	for s := range p.sessions {
		all = append(all, s)
	}
	return all
}

// poke makes the supervisor look at the sessions.
func (p *Plugin) poke() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// loaded are the plugins of this process.
var loaded struct {
	sync.Mutex
	all []*Plugin
}

// Loaded lists the plugins that are loaded, by name.
func Loaded() []*Plugin {
	loaded.Lock()
	defer loaded.Unlock()
	all := slices.Clone(loaded.all)
	slices.SortStableFunc(all, func(a, b *Plugin) int { return cmp.Compare(a.opts.Name, b.opts.Name) })
	return all
}

// A driver opens a method of a plugin.
type driver struct {
	plugin   *Plugin
	names    names
	replaced bmi.Driver // nil: none
	removed  bool       // its plugin was unloaded; guarded by loaded
}

// Name implements bmi.Driver.
func (d *driver) Name() string { return d.names.registered }
