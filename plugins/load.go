package plugins

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Load starts the plugin at a path and registers the methods that it offers, as
// bmi.Register does for those that a program carries. ctx bounds the start alone. The
// plugin runs until Unload, or until this process ends.
//
// A file is refused that is not there, no program, or no plugin of this version; that
// somebody else could have written: its owner must be this user or root, and neither the
// file nor its folder may be open to all for writing; and whose checksum is not
// Options.SHA256. So is one that offers a method whose name is taken, unless
// Options.Names has another one for it, or Options.Replace is set. The error says what
// to do.
func Load(ctx context.Context, path string, o Options) (*Plugin, error) {
	o, err := o.withDefaults(path)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("plugins: %w", err)
	}
	in, err := start(ctx, path, &o)
	if err != nil {
		return nil, &refusal{err}
	}
	p := &Plugin{
		opts: o, log: o.Log.With("plugin", o.Name), path: path, methods: in.methods, in: in,
		kick: make(chan struct{}, 1), ended: make(chan struct{}), changed: make(chan struct{}),
		sessions: make(map[*session]struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if err := p.register(); err != nil {
		p.cancel()
		in.proc.Kill()
		return nil, &refusal{err}
	}
	go p.supervise()
	p.log.Info("plugin loaded", "path", path, "version", in.version, "methods", p.Methods(), "pid", in.proc.PID())
	return p, nil
}

// register makes the methods known: all of them, or none.
func (p *Plugin) register() error {
	loaded.Lock()
	defer loaded.Unlock()
	for _, n := range p.methods {
		d := &driver{plugin: p, names: n}
		err := bmi.Add(d)
		if errors.Is(err, bmi.ErrNameTaken) && p.opts.Replace {
			d.replaced = registered(n.registered)
			bmi.Remove(d.replaced)
			err = bmi.Add(d)
		}
		if err != nil {
			p.unregister()
			return p.whyNot(n, err)
		}
		p.drivers = append(p.drivers, d)
	}
	loaded.all = append(loaded.all, p)
	return nil
}

// whyNot is the error of a method that could not be registered. That of bmi speaks of
// names that processes listen under, too.
func (p *Plugin) whyNot(n names, err error) error {
	if !errors.Is(err, bmi.ErrNameTaken) {
		return fmt.Errorf("plugin %s: method %s: %w", p.opts.Name, n.registered, err)
	}
	whose := "this program has of its own"
	if other, ok := registered(n.registered).(*driver); ok {
		whose = fmt.Sprintf("plugin %s (%s) has brought already", other.plugin.opts.Name, other.plugin.path)
	}
	return &taken{fmt.Sprintf("plugin %s (%s) offers method %s, which %s: give it another name (Options.Names) or have it in its place (Options.Replace)",
		p.opts.Name, p.path, n.registered, whose)}
}

// registered is the driver of a name, or nil.
func registered(name string) bmi.Driver {
	all := bmi.Drivers()
	if i := slices.IndexFunc(all, func(d bmi.Driver) bool { return d.Name() == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// unregister takes the methods back, and gives those their places that were replaced.
func (p *Plugin) unregister() {
	for _, d := range p.drivers {
		if registered(d.Name()) == bmi.Driver(d) {
			bmi.Remove(d)
			if before := d.before(); before != nil {
				_ = bmi.Add(before) // if another one was faster, it may stay
			}
		}
		d.removed = true
	}
	loaded.all = slices.DeleteFunc(loaded.all, func(other *Plugin) bool { return other == p })
}

// before is the driver that was replaced, unless its plugin is gone: then the one before.
func (d *driver) before() bmi.Driver {
	for {
		other, ours := d.replaced.(*driver)
		if !ours || !other.removed {
			return d.replaced
		}
		d = other
	}
}
