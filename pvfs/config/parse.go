package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Limits of a configuration.
const (
	ServersMax = 4096
	RangesMax  = 16384
)

// ErrNoFS is for a text without the requested file system.
var ErrNoFS = errors.New("config: no such file system")

// Options configure ParseWith.
type Options struct {
	File string // name of the file, for errors
	FS   string // name of the file system; empty for the first

	// Lenient is for clients, which enforce nothing and must work with servers that know more than they do. It skips unknown
	// keywords and sections, keywords in the wrong place or repeated, and wrong values of keywords that only servers use.
	// Everything that a client needs must still be right.
	Lenient bool
}

// Parse reads a text strictly, as a server must. It takes the first file system.
func Parse(text string) (*Config, error) { return ParseWith(text, Options{}) }

// ParseWith reads a text. The error lists all problems with their lines. Without Lenient these are, besides values that do not
// parse: a keyword or a section that OrangeFS does not have, or not in this place; a keyword without a value, or repeated
// although it may appear only once; and any problem in another file system of the text. A keyword of OrangeFS that has no effect
// here is not an error; Config.Ignored lists it.
func ParseWith(text string, opts Options) (*Config, error) {
	if len(text) >= proto.MaxConfig {
		return nil, opts.named(fmt.Errorf("config: %d bytes, more than the %d that fit a message", len(text), proto.MaxConfig-1))
	}
	directives, err := scan(text, opts.File)
	if err != nil {
		return nil, err
	}
	p := &parser{opts: opts}
	out, ok := p.outline(directives)
	if !ok {
		return nil, p.err()
	}
	c := p.configure(out)
	if err := p.err(); err != nil {
		return nil, err
	}
	if c == nil {
		if opts.FS != "" {
			return nil, opts.named(fmt.Errorf("%w: %q", ErrNoFS, opts.FS))
		}
		return nil, opts.named(fmt.Errorf("%w: the text has none", ErrNoFS))
	}
	c.Text = text
	return c, nil
}

// named adds the name of the file to an error that has no line.
func (o Options) named(err error) error {
	if o.File == "" {
		return err
	}
	return fmt.Errorf("%s: %w", o.File, err)
}

// Names returns the names of the file systems in a text.
func Names(text string) ([]string, error) {
	directives, err := scan(text, "")
	if err != nil {
		return nil, err
	}
	p := &parser{opts: Options{Lenient: true}}
	out, ok := p.outline(directives)
	if !ok {
		return nil, p.err()
	}
	var names []string
	for _, system := range out.systems {
		for _, s := range system.settings {
			if s.section == "<FileSystem>" && s.name == "name" {
				names = append(names, s.value())
			}
		}
	}
	return names, nil
}

// configure applies the values. It returns the wanted file system, or nil if the text does not have it.
func (p *parser) configure(out *outline) (wanted *Config) {
	c := base()
	p.apply(&applier{c: c, server: -1}, out.global)
	for _, options := range out.servers {
		p.serverOptions(c, options)
	}
	taken := map[string]bool{}
	for _, system := range out.systems {
		mark := len(p.problems)
		fs := *c
		fs.Servers, fs.hints = slices.Clone(c.Servers), map[string]string{}
		p.fileSystem(&fs, system)
		take := wanted == nil && (p.opts.FS == "" || p.opts.FS == fs.Name)
		if p.opts.Lenient && !take {
			p.problems = p.problems[:mark]
			continue
		}
		if take {
			wanted = &fs
		}
		if system.wrong || len(p.problems) > mark {
			continue
		}
		for _, own := range []string{"Name " + fs.Name, fmt.Sprint("ID ", fs.ID)} {
			if taken[own] {
				p.strict(system.open.errorf("there is another file system with %s", own))
			}
			taken[own] = true
		}
	}
	return wanted
}

// apply applies settings, and records those that are wrong. It returns those that were applied.
func (p *parser) apply(a *applier, settings []setting) (applied []setting) {
	for _, s := range settings {
		before := *a.c
		if err := a.set(s); err != nil {
			if p.opts.Lenient && s.word.Effect != OnAll {
				*a.c = before
				continue
			}
			p.wrong(problem{s.line, err})
			continue
		}
		applied = append(applied, s)
		if s.word.Effect == NoEffect {
			a.c.ignored = append(slices.Clip(a.c.ignored), Ignored{Line: s.line, Section: s.section, Keyword: *s.word, Value: s.value(), Server: a.server})
		}
	}
	return applied
}

// serverOptions stores the settings of a <ServerOptions>, after a trial.
func (p *parser) serverOptions(c *Config, options part) {
	server := c.Index(options.alias)
	if server < 0 {
		if options.alias != "" {
			p.strict(options.open.errorf("there is no alias %q", options.alias))
		}
		return
	}
	trial := *c
	applied := p.apply(&applier{c: &trial, server: server}, options.settings)
	c.ignored = trial.ignored
	for len(c.options) <= server {
		c.options = append(c.options, nil)
	}
	c.options[server] = append(c.options[server], applied...)
}

// fileSystem applies the settings of a <FileSystem>, and checks that it is complete.
func (p *parser) fileSystem(fs *Config, system part) {
	mark := len(p.problems)
	p.apply(&applier{c: fs, server: -1}, system.settings)
	if fs.Dist.Name == "" {
		fs.Dist = stripe.Default(proto.DistStripe)
	}
	if system.wrong || len(p.problems) > mark {
		return // settings that seem to be missing may be in the wrong lines
	}
	if err := fs.complete(); err != nil {
		p.wrong(system.end.errorf("%v", err))
	}
}

// complete checks that a file system has all necessary settings, and sorts its ranges.
func (c *Config) complete() error {
	switch {
	case c.Name == "":
		return errors.New("the file system has no Name")
	case c.ID <= 0:
		return errors.New("the file system has no ID")
	case c.Root == 0:
		return errors.New("the file system has no RootHandle")
	}
	if err := c.index(); err != nil {
		return err
	}
	if owner := c.find(c.Root); owner == nil || owner.data {
		return fmt.Errorf("no server has the root handle %d among its metadata", c.Root)
	}
	return nil
}

// index sorts the ranges and checks that none overlap.
func (c *Config) index() error {
	c.owners = nil
	for i, s := range c.Servers {
		for _, e := range s.Meta {
			c.owners = append(c.owners, ownedRange{e, i, false})
		}
		for _, e := range s.Data {
			c.owners = append(c.owners, ownedRange{e, i, true})
		}
	}
	if len(c.owners) > RangesMax {
		return fmt.Errorf("%d ranges of handles, more than %d", len(c.owners), RangesMax)
	}
	slices.SortFunc(c.owners, func(a, b ownedRange) int {
		if a.First < b.First {
			return -1
		}
		return 1
	})
	for i := 1; i < len(c.owners); i++ {
		if a, b := c.owners[i-1], c.owners[i]; b.First <= a.Last {
			return fmt.Errorf("ranges %d-%d of %s and %d-%d of %s overlap", a.First, a.Last,
				c.Servers[a.server].Alias, b.First, b.Last, c.Servers[b.server].Alias)
		}
	}
	if len(c.MetaServers()) == 0 || len(c.DataServers()) == 0 {
		return errors.New("no server has handles for metadata, or none for data")
	}
	return nil
}
