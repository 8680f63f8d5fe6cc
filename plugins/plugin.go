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

// State is the state of a plugin.
//
//	Running ──dies──▶ Restarting ──too often──▶ Dead
//	   ◀──a new process──┘  │                    │
//	   └──────── Unload ────┴─────▶ Unloaded ◀───┘
type State uint8

const (
	// Running: its process answers.
	Running State = iota
	// Restarting: its process died, and another one is about to replace it.
	Restarting
	// Dead: it died too often, and stays dead until it is unloaded and loaded again.
	Dead
	// Unloaded: it was unloaded, which is final.
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
	tasks  sync.WaitGroup // goroutines other than the supervisor

	unloading sync.Mutex

	mu       sync.Mutex
	state    State
	err      error         // why it is not Running
	in       *incarnation  // the latest
	changed  chan struct{} // closed and replaced with each change of state
	restarts int
	waiting  bool // Unload waits for the tasks
	sessions map[*session]struct{}
}

// Name returns Options.Name.
func (p *Plugin) Name() string { return p.opts.Name }

// Path returns the path of the file.
func (p *Plugin) Path() string { return p.path }

// Version returns the plugin's version for display, as the plugin reports it; a restart may change
// it.
func (p *Plugin) Version() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in.version
}

// PID returns the id of its process, or of its latest one.
func (p *Plugin) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in.proc.PID()
}

// Methods returns the names that its methods are registered under.
func (p *Plugin) Methods() []string {
	var all []string
	for _, n := range p.methods {
		all = append(all, n.registered)
	}
	return all
}

// State returns its present state.
func (p *Plugin) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Err returns why it is not Running, or nil.
func (p *Plugin) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Restarts returns how often another process replaced one that died.
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

// running waits at most limit for the plugin to run.
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

// spawn runs a task in a goroutine. Unload waits for tasks that began before it.
func (p *Plugin) spawn(task func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting {
		go task()
		return
	}
	p.tasks.Go(task)
}

// all returns the sessions.
func (p *Plugin) all() []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*session, 0, len(p.sessions))
	for s := range p.sessions {
		all = append(all, s)
	}
	return all
}

// poke makes the supervisor check the sessions.
func (p *Plugin) poke() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// loaded has the plugins of this process.
var loaded struct {
	sync.Mutex
	all []*Plugin
}

// Loaded returns the loaded plugins, sorted by name.
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
	replaced bmi.Driver // may be nil
	removed  bool       // its plugin was unloaded; guarded by loaded
}

// Name implements bmi.Driver.
func (d *driver) Name() string { return d.names.registered }
