package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/stripe"
)

// Limits of a configuration.
const (
	ServersMax = 4096
	RangesMax  = 16384
)

// ErrNoFS is for a text that does not have the file system asked for.
var ErrNoFS = errors.New("config: no such file system")

// Options are how a text is read.
type Options struct {
	File string // name of the file, for errors
	FS   string // name of the file system; empty for the first

	// Lenient is for clients, which enforce nothing and must work with servers that know more than they do. Unknown
	// keywords and sections, keywords in the wrong place or repeated, and wrong values of keywords that only servers
	// act on are passed over. What a client needs must be right all the same.
	Lenient bool
}

// Parse reads a text, as a server must: strictly. It takes the first file system.
func Parse(text string) (*Config, error) { return ParseWith(text, Options{}) }

// ParseWith reads a text. An error names each thing that is wrong, with its line. Without Lenient these are errors,
// besides values that do not parse: a keyword or a section that OrangeFS does not have, or not in this place; a keyword
// that is there twice but may be once, or has no value; and whatever is wrong with other file systems of the text. A
// keyword that OrangeFS has but that nothing here acts on is no error; Config.Ignored has it.
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

// named puts the name of the file in front of an error without a line.
func (o Options) named(err error) error {
	if o.File == "" {
		return err
	}
	return fmt.Errorf("%s: %w", o.File, err)
}

// Names are the names of the file systems that a text describes.
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

// configure applies the values, and gives the file system that is wanted, or nil if the text does not have it.
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

// apply applies settings, and notes those that are wrong. It returns those that are applied.
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
			a.c.ignored = append(slices.Clip(a.c.ignored), Ignored{Line: s.line, Section: s.section, Keyword: *s.word, Server: a.server})
		}
	}
	return applied
}

// serverOptions keeps what a <ServerOptions> says, and tries whether it can be applied.
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

// fileSystem applies what a <FileSystem> says, and checks that it is complete.
func (p *parser) fileSystem(fs *Config, system part) {
	mark := len(p.problems)
	p.apply(&applier{c: fs, server: -1}, system.settings)
	if fs.Dist.Name == "" {
		fs.Dist = stripe.Default(proto.DistStripe)
	}
	if system.wrong || len(p.problems) > mark {
		return // what is missing may be what is wrong
	}
	if err := fs.complete(); err != nil {
		p.wrong(system.end.errorf("%v", err))
	}
}

// complete checks that a file system has all that it needs, and sorts its ranges.
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
