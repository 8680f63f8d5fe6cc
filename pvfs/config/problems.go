package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// problemsMax is how many problems one error names.
const problemsMax = 50

// problem is an error in a text.
type problem struct {
	line int
	err  error
}

func (e problem) Error() string { return e.err.Error() }
func (e problem) Unwrap() error { return e.err }

// problemf makes a problem of a line.
func (d directive) problemf(format string, args ...any) problem {
	where := fmt.Sprintf("config: line %d", d.line)
	if d.file != "" {
		where = fmt.Sprintf("%s:%d", d.file, d.line)
	}
	return problem{d.line, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...))}
}

// errorf makes a problem of the keyword or section in a line.
func (d directive) errorf(format string, args ...any) problem {
	return d.problemf("%s: %s", d.text, fmt.Sprintf(format, args...))
}

// parser collects the problems of a text.
type parser struct {
	opts     Options
	problems []problem
}

// wrong adds a problem.
func (p *parser) wrong(one problem) { p.problems = append(p.problems, one) }

// strict adds a problem, unless the text is read leniently.
func (p *parser) strict(one problem) {
	if !p.opts.Lenient {
		p.wrong(one)
	}
}

// err returns all problems, in the order of the lines.
func (p *parser) err() error {
	slices.SortStableFunc(p.problems, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	var all []error
	for _, one := range p.problems[:min(len(p.problems), problemsMax)] {
		all = append(all, one)
	}
	if more := len(p.problems) - len(all); more > 0 {
		all = append(all, fmt.Errorf("and %d more errors", more))
	}
	return errors.Join(all...)
}
