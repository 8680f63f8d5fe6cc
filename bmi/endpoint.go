package bmi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/progress"
)

// An Endpoint is one process's place in the network: the methods it opened, the
// addresses it looked up and its unexpected messages. Any goroutine may call any of its
// methods.
type Endpoint struct {
	cfg Config

	// open serialises opening and closing of methods and contexts.
	open      sync.Mutex
	instances atomic.Pointer[[]*instance] // grows only, by copy
	contexts  []*Context                  // by Context.index; nil where free
	closing   atomic.Bool                 // posts and opens are refused
	closed    chan struct{}               // every method is closed
	unclosed  atomic.Int32                // see closedOne

	reloading sync.Mutex // one ReloadKeys at a time

	addrMu sync.RWMutex
	addrs  map[string]Addr // results of Lookup, by the text given to it

	observers atomic.Pointer[[]*observer] // replaced under open; nil if there never were any

	handlers [256]atomic.Pointer[func(Message)] // by class
	quick    [256]atomic.Pointer[QuickHandler]  // set by HandleQuick
	queue    unexpectedQueue

	monitor progress.Monitor
	hide    func() // undoes about.Opened
}

// Open opens an endpoint. It first loads the plugins, if there are any, and then opens
// the methods of cfg.Listen and cfg.Methods. ctx bounds how long all that may take.
func Open(ctx context.Context, cfg Config) (*Endpoint, error) {
	e := &Endpoint{
		cfg:    cfg.withDefaults(),
		closed: make(chan struct{}),
		addrs:  make(map[string]Addr),
	}
	e.instances.Store(new([]*instance))
	e.queue.init(e.cfg.Limits)
	e.monitor.Init(progress.Config{Clock: e.cfg.Clock, SpinMax: e.cfg.SpinMax, Manual: e.cfg.Manual})

	if err := e.cfg.openTrace(ctx); err != nil {
		return nil, fmt.Errorf("bmi: %w", err)
	}
	if err := loadPlugins(ctx, &e.cfg); err != nil {
		return nil, err
	}
	listen := make(map[string][]string)
	var names []string
	for _, address := range cfg.Listen {
		name, err := schemeOf(address)
		if err != nil {
			return nil, err
		}
		listen[name] = append(listen[name], address)
		names = append(names, name)
	}
	for _, name := range append(names, cfg.Methods...) {
		if _, err := e.openMethod(ctx, name, listen[name]); err != nil {
			// The methods opened so far have no operations: there is nothing to drain.
			_ = e.Close()
			return nil, err
		}
	}
	if !e.cfg.Manual { // a simulation has many endpoints, and closes few of them
		e.hide = about.Opened(e)
	}
	return e, nil
}

// methods returns the open methods.
func (e *Endpoint) methods() []*instance { return *e.instances.Load() }

// method returns the open method of a name, and opens it if need be.
func (e *Endpoint) method(name string) (*instance, error) {
	for _, in := range e.methods() {
		if in.info.Name == name {
			return in, nil
		}
	}
	return e.openMethod(context.Background(), name, nil)
}

func (e *Endpoint) openMethod(ctx context.Context, name string, listen []string) (*instance, error) {
	e.open.Lock()
	defer e.open.Unlock()
	if e.closing.Load() {
		return nil, fmt.Errorf("%w: the endpoint, open another", ErrClosed)
	}
	for _, in := range e.methods() {
		if in.info.Name == name {
			return in, nil
		}
	}
	d, err := driverOf(name)
	if err != nil {
		return nil, err
	}
	if len(e.methods()) == methodsMax {
		return nil, fmt.Errorf("%w: %d methods are open, the most an endpoint can have", ErrInvalid, methodsMax)
	}
	in := &instance{ep: e, index: len(e.methods())}
	in.idle.L = &in.Engine
	// The method may call its host before Open returns, from the goroutine that opens
	// it.
	in.Lock()
	defer in.unlock()
	in.method, err = d.Open(ctx, MethodConfig{
		Host:    in,
		Listen:  listen,
		Clock:   e.cfg.Clock,
		Log:     e.cfg.Log.With("method", name),
		Options: e.cfg.Options[name],
	})
	if err != nil {
		if errors.Is(err, ErrNameTaken) {
			return nil, err // it names the address, which says more
		}
		return nil, fmt.Errorf("bmi: cannot open method %s: %w", name, err)
	}
	in.info = in.method.Info()
	in.info.Name = name
	in.settings = settingsOf(d, e.cfg.Options[name])
	in.sizeMax = [...]int{KindSend: in.info.MaxExpectedSize, KindSendUnexpected: in.info.MaxUnexpectedSize}
	in.nowBytes = -1
	if in.sender, _ = in.method.(NowSender); in.sender != nil {
		in.nowBytes = in.sender.NowBytes()
	}
	if in.info.FileSends {
		in.files, in.info.FileSends = in.method.(FileSender)
	}
	if in.info.RemoteAccess {
		in.remote, in.info.RemoteAccess = in.method.(RemoteAccessor)
	}
	in.startTrace()
	all := append(slices.Clone(e.methods()), in)
	e.instances.Store(&all)
	sleeper, _ := in.method.(Sleeper)
	deadliner, _ := in.method.(Deadliner)
	e.monitor.Add(&in.Engine, in, sleeper, deadliner)
	return in, nil
}

// Addresses returns the addresses on which the endpoint listens.
func (e *Endpoint) Addresses() []string {
	var all []string
	for _, in := range e.Info() {
		all = append(all, in.Addresses...)
	}
	return all
}

// Info describes the open methods.
func (e *Endpoint) Info() []Info {
	var all []Info
	for _, in := range e.methods() {
		all = append(all, in.info)
	}
	return all
}

// NextDeadline is the earliest time, in terms of Config.Clock, at which an open method
// wants a poll even if nothing arrives. It is for programs that drive an endpoint with
// Config.Manual.
func (e *Endpoint) NextDeadline() (at time.Duration, ok bool) {
	for _, in := range e.methods() {
		in.Lock()
		if t, has := in.NextDeadline(); has && (!ok || t < at) {
			at, ok = t, true
		}
		in.unlock()
	}
	return at, ok
}

// Stats returns the counts since the endpoint and its methods were opened and their
// peers became known.
func (e *Endpoint) Stats() Stats {
	var s Stats
	c := e.monitor.Counts()
	s.Endpoint.Sleeps, s.Endpoint.Wakes, s.Endpoint.SpinsLost, s.Endpoint.Slept = c.Sleeps, c.Wakes, c.SpinsLost, c.Slept
	for _, in := range e.methods() {
		in.Lock()
		s.Endpoint.Polls += in.Polls()
		s.Endpoint.HandlerCalls += in.calls
		s.Endpoint.SpinsWon += in.spinsWon
		if st, ok := in.method.(Statser); ok && !in.IsClosed() {
			var m MethodStats
			m, s.Peers = st.Stats(s.Peers)
			m.Method = in.info.Name
			s.Methods = append(s.Methods, m)
		}
		in.unlock()
	}
	e.queue.stats(&s.Endpoint)
	return s
}
