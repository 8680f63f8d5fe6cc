package config

import (
	"fmt"
	"slices"
	"strings"
)

// setting is a keyword and its value, in a section where it is allowed.
type setting struct {
	directive
	section string // the innermost section, as spelt in the table
	word    *Keyword
}

// part is one <FileSystem> or one <ServerOptions> with its sections. A text may have several of each.
type part struct {
	open, end directive
	alias     string // of the server in a <ServerOptions>
	settings  []setting
	wrong     bool // it has an error
}

// outline is a text whose sections and keywords were checked, but not its values.
type outline struct {
	global           []setting // of <Defaults>, <Security> and <Aliases>
	servers, systems []part
}

// level is an open section.
type level struct {
	directive
	name   string // as spelt in the table of sections
	passed bool   // its contents are skipped
}

// seenKey is a keyword in a section, for one file system, one server or all. It may appear once.
type seenKey struct{ of, section, name string }

// outliner makes an outline of directives.
type outliner struct {
	*parser
	out     outline
	path    []level
	part    *part // the open one: the last of out.servers or out.systems
	begun   int   // len(problems) when part began
	of      string
	aliases bool // there was an <Aliases>
	seen    map[seenKey]int
}

// outline splits a text into its parts. An error in the sections themselves stops it. An error in a keyword becomes one of the
// problems, and the keyword is left out.
func (p *parser) outline(directives []directive) (*outline, bool) {
	o := &outliner{parser: p, seen: map[seenKey]int{}}
	for _, d := range directives {
		switch {
		case strings.HasPrefix(d.name, "</"):
			if !o.close(d) {
				return nil, false
			}
		case strings.HasPrefix(d.name, "<"):
			o.open(d)
		default:
			o.keyword(d)
		}
	}
	if len(o.path) > 0 {
		p.wrong(o.top().errorf("it is not closed"))
		return nil, false
	}
	return &o.out, true
}

// top is the innermost open section.
func (o *outliner) top() level {
	if len(o.path) == 0 {
		return level{}
	}
	return o.path[len(o.path)-1]
}

func (o *outliner) open(d directive) {
	outer := o.top()
	l := level{directive: d, passed: outer.passed}
	if !l.passed {
		l.name, l.passed = o.section(d, outer.name)
	}
	o.path = append(o.path, l)
	if l.passed {
		return
	}
	if len(d.args) > 0 {
		o.strict(d.errorf("a section takes no value"))
	}
	if outer.name == "" {
		o.begun = len(o.problems)
	}
	switch l.name {
	case "<FileSystem>":
		if !o.aliases {
			o.strict(d.errorf("the aliases must come first"))
		}
		o.out.systems = append(o.out.systems, part{open: d})
		o.part = &o.out.systems[len(o.out.systems)-1]
		o.of = fmt.Sprint("system ", len(o.out.systems))
	case "<ServerOptions>":
		o.out.servers = append(o.out.servers, part{open: d})
		o.part = &o.out.servers[len(o.out.servers)-1]
		o.of = fmt.Sprint("options ", len(o.out.servers))
	}
}

// section looks a section up in the table. The contents of an unknown or misplaced section are skipped, so that it is one problem
// and not many.
func (o *outliner) section(d directive, outer string) (name string, passed bool) {
	var all []string
	for _, s := range sections {
		all = append(all, s.name)
		if !strings.EqualFold(s.name, d.name) {
			continue
		}
		if slices.Contains(s.in, outer) {
			return s.name, false
		}
		o.strict(d.problemf("%s does not belong %s, but %s", d.text, within(outer), withinAny(s.in)))
		return s.name, true
	}
	if !o.opts.Lenient {
		o.wrong(d.problemf("there is no section %s%s", d.text, didYouMean(d.text, all)))
	}
	return d.text, true
}

func (o *outliner) close(d directive) bool {
	switch top := o.top(); {
	case len(o.path) == 0:
		o.wrong(d.errorf("no section is open"))
		return false
	case top.directive.name != "<"+d.name[2:]:
		o.wrong(d.errorf("%s of line %d must be closed first", top.text, top.line))
		return false
	}
	o.path = o.path[:len(o.path)-1]
	if len(o.path) == 0 {
		if o.part != nil {
			o.part.end, o.part.wrong = d, len(o.problems) > o.begun
		}
		o.part, o.of = nil, ""
	}
	return true
}

func (o *outliner) keyword(d directive) {
	l := o.top()
	if l.passed {
		return
	}
	k := find(l.name, d.name)
	if k == nil {
		if !o.opts.Lenient {
			o.wrong(unknown(l.name, d))
		}
		return
	}
	if strings.TrimSpace(d.value()) == "" {
		if !o.opts.Lenient || k.Effect == OnAll {
			o.wrong(d.errorf("it has no value"))
		}
		return
	}
	s := setting{d, l.name, k}
	switch {
	case k.Name == "Server":
		if o.part.alias != "" {
			o.strict(d.problemf("%s has %s twice", l.name, k.Name))
		}
		o.part.alias, o.of = d.value(), "server "+d.value()
		return
	case k.Name == "Alias":
		o.aliases = true
	case o.path[0].name == "<ServerOptions>" && o.part.alias == "":
		o.strict(d.errorf("Server must come first in <ServerOptions>"))
		return
	}
	o.once(s)
	if o.part != nil {
		o.part.settings = append(o.part.settings, s)
	} else {
		o.out.global = append(o.out.global, s)
	}
}

// once reports a keyword that may appear only once and did so before.
func (o *outliner) once(s setting) {
	if s.word.Many {
		return
	}
	key := seenKey{o.of, s.section, s.name}
	if first, again := o.seen[key]; again {
		o.strict(s.problemf("%s has %s twice, first in line %d", o.top().name, s.word.Name, first))
		return
	}
	o.seen[key] = s.line
}

// find finds a keyword of a section, or nil.
func find(section, name string) *Keyword {
	for i := range keywords {
		if k := &keywords[i]; strings.EqualFold(k.Name, name) && k.In(section) {
			return k
		}
	}
	return nil
}

// unknown reports a keyword that a section does not have, with a suggestion.
func unknown(section string, d directive) problem {
	var here, elsewhere []string
	for i := range keywords {
		k := &keywords[i]
		if k.In(section) {
			here = append(here, k.Name)
		}
		if strings.EqualFold(k.Name, d.name) {
			elsewhere = append(elsewhere, k.Sections...)
		}
	}
	switch {
	case len(elsewhere) > 0:
		return d.problemf("%s does not belong %s, but %s", d.text, within(section), withinAny(elsewhere))
	case section == "":
		return d.problemf("%q is outside of all sections", d.text)
	}
	return d.problemf("%s has no keyword %q%s", section, d.text, didYouMean(d.text, here))
}

// within describes a section for an error.
func within(section string) string {
	if section == "" {
		return "outside of all sections"
	}
	return "in " + section
}

func withinAny(sections []string) string {
	if len(sections) == 1 {
		return within(sections[0])
	}
	var named []string
	for _, s := range sections {
		if s != "" {
			named = append(named, s)
		}
	}
	return "in " + strings.Join(named, " or ")
}

// didYouMean is the suggestion at the end of an error about a misspelt name, or empty.
func didYouMean(misspelt string, names []string) string {
	if near := nearest(misspelt, names); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}
