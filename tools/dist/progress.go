package main

import (
	"fmt"
	"io"
	"time"
)

// A progress says on a line what is being made, and behind it how long that took.
type progress struct {
	out         io.Writer
	now         func() time.Time
	steps, done int
}

// step carries out one of the steps.
func (p *progress) step(what string, do func() error) error {
	p.done++
	fmt.Fprintf(p.out, "dist: %d of %d: %s: ", p.done, p.steps, what)
	began := p.now()
	err := do()
	took := p.now().Sub(began).Seconds()
	if err != nil {
		fmt.Fprintf(p.out, "failed after %.0f s\n", took)
		return err
	}
	fmt.Fprintf(p.out, "%.0f s\n", took)
	return nil
}
