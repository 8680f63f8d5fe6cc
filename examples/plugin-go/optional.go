package main

import (
	"fmt"
	"path"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

var (
	_ bmi.Sleeper   = (*method)(nil)
	_ bmi.Deadliner = (*method)(nil)
	_ bmi.Dropper   = (*method)(nil)
	_ bmi.Checker   = (*method)(nil)
	_ bmi.Ranger    = (*method)(nil)
)

// retryAfter is when to repeat a connect that found no room.
const retryAfter = time.Millisecond

// NextDeadline implements bmi.Deadliner.
func (m *method) NextDeadline() (at time.Duration, ok bool) { return m.retryAt, m.retryAt != 0 }

// Drop implements bmi.Dropper.
func (m *method) Drop(remote bmi.Peer) {
	p := remote.(*peer)
	delete(m.peers, p.name)
	m.end(p, bmi.ErrDropped)
}

// Check implements bmi.Checker. If there is no connection, it tries to connect, and sends nothing.
func (m *method) Check(remote bmi.Peer) error {
	p := remote.(*peer)
	if p.out >= 0 || p.in >= 0 {
		return nil
	}
	fd, err := dial(p.name)
	hangUp(&fd)
	return err
}

// InRange implements bmi.Ranger, with the wildcards of path.Match.
func (m *method) InRange(remote bmi.Peer, pattern string) (bool, error) {
	in, err := path.Match(pattern, remote.String())
	if err != nil {
		return false, fmt.Errorf("%w: pattern %q: %w", bmi.ErrInvalid, pattern, err)
	}
	return in, nil
}
