package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// Parse reads a text that describes one file system; of several it takes the
// first. An error says in which line.
func Parse(text string) (*Config, error) { return ParseNamed(text, "") }

// ParseNamed reads a text and takes the file system of that name.
func ParseNamed(text, name string) (*Config, error) {
	if len(text) >= proto.MaxConfig {
		return nil, fmt.Errorf("config: %d bytes, more than the %d that fit a message", len(text), proto.MaxConfig-1)
	}
	directives, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{c: base(), want: name}
	p.c.Text = text
	for _, d := range directives {
		if err := p.directive(d); err != nil {
			return nil, err
		}
	}
	if len(p.path) > 0 {
		return nil, fmt.Errorf("config: %s is not closed", p.path[len(p.path)-1])
	}
	return p.finish()
}

// Names are the names of the file systems that a text describes.
func Names(text string) (names []string, err error) {
	directives, err := scan(text)
	var path []string
	for _, d := range directives {
		switch {
		case strings.HasPrefix(d.name, "</"):
			path = path[:max(len(path)-1, 0)]
		case strings.HasPrefix(d.name, "<"):
			path = append(path, d.name)
		case d.name == "name" && len(path) == 1 && path[0] == "<filesystem>" && len(d.args) > 0:
			names = append(names, d.args[0])
		}
	}
	return names, err
}

// parser applies one directive after another.
type parser struct {
	c     *Config
	want  string // name of the file system, or empty for the first
	path  []string
	found bool // c has the file system that is wanted
	param string
	// fs holds what is being read of a file system, in a copy: it may be another
	// one than that wanted.
	outer  *Config
	server int // of <ServerOptions>; -1 until it is said
}

// sections are where a section may be.
var sections = map[string][]string{
	"<defaults>":         {""},
	"<aliases>":          {""},
	"<filesystem>":       {""},
	"<serveroptions>":    {""},
	"<security>":         {"", "<defaults>", "<serveroptions>"},
	"<ldap>":             {"<security>"},
	"<storagehints>":     {"<filesystem>"},
	"<exportoptions>":    {"<filesystem>"},
	"<metahandleranges>": {"<filesystem>"},
	"<datahandleranges>": {"<filesystem>"},
	"<distribution>":     {"<filesystem>"},
}

func (p *parser) section() string {
	if len(p.path) == 0 {
		return ""
	}
	return p.path[len(p.path)-1]
}

func (p *parser) directive(d directive) error {
	switch {
	case strings.HasPrefix(d.name, "</"):
		if p.section() != "<"+d.name[2:] {
			return d.errorf("it closes nothing that is open")
		}
		p.path = p.path[:len(p.path)-1]
		return p.leave(d)
	case strings.HasPrefix(d.name, "<"):
		// What is in a section that nobody here knows is passed over.
		if in, known := sections[d.name]; known && !slices.Contains(in, p.section()) {
			return d.errorf("it does not belong here")
		}
		p.path = append(p.path, d.name)
		return p.enter(d)
	}
	return p.value(d)
}

func (p *parser) enter(d directive) error {
	switch d.name {
	case "<filesystem>":
		if len(p.c.Servers) == 0 {
			return d.errorf("the aliases must come first")
		}
		p.outer = p.c
		inner := *p.c
		inner.Servers = slices.Clone(p.c.Servers)
		inner.hints = map[string]string{}
		p.c = &inner
	case "<serveroptions>":
		p.server = -1
	case "<distribution>":
		p.param = ""
	}
	return nil
}

func (p *parser) leave(d directive) error {
	if d.name != "</filesystem>" {
		return nil
	}
	fs := p.c
	if p.found || p.want != "" && p.want != fs.Name {
		p.c = p.outer
		return nil
	}
	switch {
	case fs.Name == "":
		return d.errorf("the file system has no Name")
	case fs.ID <= 0:
		return d.errorf("the file system has no ID")
	case fs.Root == 0:
		return d.errorf("the file system has no RootHandle")
	}
	if err := fs.index(); err != nil {
		return d.errorf("%v", err)
	}
	if owner := fs.find(fs.Root); owner == nil || owner.data {
		return d.errorf("no server has the root handle %d among its metadata", fs.Root)
	}
	p.found = true
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

func (p *parser) finish() (*Config, error) {
	if !p.found {
		if p.want != "" {
			return nil, fmt.Errorf("%w: %q", ErrNoFS, p.want)
		}
		return nil, fmt.Errorf("%w: the text has none", ErrNoFS)
	}
	if p.c.Dist.Name == "" {
		p.c.Dist = stripe.Default(proto.DistStripe)
	}
	return p.c, nil
}
