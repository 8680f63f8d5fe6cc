package plugins

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Load starts the plugin at a path and registers the methods that it offers, as bmi.Register does
// for built-in ones. ctx limits only the start. The plugin runs until Unload, or until this process
// ends.
//
// Load refuses a file that does not exist, is no program, or is no plugin of this version. It
// refuses one that another user could have written: its owner must be this user or root, and
// neither the file nor its folder may be writable by all. It refuses one whose checksum is not
// Options.SHA256. It also refuses one that offers a method whose name is taken, unless
// Options.Names renames the method, or Options.Replace is set. The error says what to do.
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

// register registers all methods, or none.
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

// whyNot returns the error for a method that could not be registered. The text of bmi's error also
// mentions names that processes listen on, so it is replaced.
func (p *Plugin) whyNot(n names, err error) error {
	if !errors.Is(err, bmi.ErrNameTaken) {
		return fmt.Errorf("plugin %s: method %s: %w", p.opts.Name, n.registered, err)
	}
	whose := "this program has of its own"
	if other, ok := registered(n.registered).(*driver); ok {
		whose = fmt.Sprintf("plugin %s (%s) has loaded already", other.plugin.opts.Name, other.plugin.path)
	}
	return &taken{fmt.Sprintf("plugin %s (%s) offers method %s, which %s: give it another name (Options.Names) or have it in its place (Options.Replace)",
		p.opts.Name, p.path, n.registered, whose)}
}

// registered returns the driver with a name, or nil.
func registered(name string) bmi.Driver {
	all := bmi.Drivers()
	if i := slices.IndexFunc(all, func(d bmi.Driver) bool { return d.Name() == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// unregister removes the methods, and restores those that they replaced.
func (p *Plugin) unregister() {
	for _, d := range p.drivers {
		if registered(d.Name()) == bmi.Driver(d) {
			bmi.Remove(d)
			if before := d.before(); before != nil {
				_ = bmi.Add(before) // fails if another driver has taken the name meanwhile; then that one stays
			}
		}
		d.removed = true
	}
	loaded.all = slices.DeleteFunc(loaded.all, func(other *Plugin) bool { return other == p })
}

// before returns the driver that this one replaced. If its plugin is unloaded, it returns the one
// before that.
func (d *driver) before() bmi.Driver {
	for {
		other, ours := d.replaced.(*driver)
		if !ours || !other.removed {
			return d.replaced
		}
		d = other
	}
}
