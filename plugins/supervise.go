package plugins

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// supervise watches the process: it tells the sessions when the process dies, starts another one,
// and kills one that hangs.
func (p *Plugin) supervise() {
	defer close(p.ended)
	look := time.NewTicker(max(p.opts.HangTimeout/2, time.Millisecond))
	defer look.Stop()
	var past []time.Time // of the restarts within the window
	in := p.in
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-in.proc.Done():
			if in = p.again(in, &past); in == nil {
				return
			}
			p.reopen(in)
		case <-p.kick:
			p.reopen(in)
		case <-look.C:
			p.ping(in)
		}
	}
}

// again tells the sessions that the process died, and starts others until one runs. It returns nil
// if none will run any more.
func (p *Plugin) again(in *incarnation, past *[]time.Time) *incarnation {
	err := in.death()
	p.log.Warn("plugin died", "error", err)
	p.mu.Lock()
	in.gone.Store(true)
	if p.state == Running {
		p.becomeLocked(Restarting, err)
	}
	p.mu.Unlock()
	for _, s := range p.all() {
		s.lost(err, false)
	}
	for {
		if !p.mayRestart(past, err) {
			return nil
		}
		select {
		case <-time.After(p.opts.backoffAfter(len(*past))):
		case <-p.ctx.Done():
			return nil
		}
		*past = append(*past, time.Now())
		next, failed := p.restart()
		if failed == nil {
			return next
		}
		if p.ctx.Err() != nil {
			return nil
		}
		err = died(fmt.Sprintf("plugin %s died and could not be started again: %v", p.opts.Name, failed))
		p.log.Warn("plugin could not be started again", "error", failed)
	}
}

// mayRestart tells whether the limit of restarts has not been reached. If it has, the plugin
// becomes dead.
func (p *Plugin) mayRestart(past *[]time.Time, err error) bool {
	*past = slices.DeleteFunc(*past, func(at time.Time) bool { return time.Since(at) > p.opts.RestartWindow })
	if limit := p.opts.RestartLimit; limit < 0 {
		err = died(fmt.Sprintf("%s; it is never restarted (Options.RestartLimit)", plain(err)))
	} else if len(*past) >= limit {
		err = died(fmt.Sprintf("%s; it was restarted %d times within %v and stays dead until it is unloaded and loaded again", plain(err), len(*past), p.opts.RestartWindow))
	} else {
		return true
	}
	p.mu.Lock()
	if p.state == Restarting {
		p.becomeLocked(Dead, err)
	}
	p.mu.Unlock()
	p.log.Error("plugin stays dead", "error", err)
	for _, s := range p.all() {
		s.lost(err, true)
	}
	return false
}

// plain returns the text of an error of this package without its prefix.
func plain(err error) string {
	const prefix = "plugins: "
	text := err.Error()
	if len(text) > len(prefix) && text[:len(prefix)] == prefix {
		return text[len(prefix):]
	}
	return text
}

// restart starts another process, which must offer all methods of the first one.
func (p *Plugin) restart() (*incarnation, error) {
	in, err := start(p.ctx, p.path, &p.opts)
	if err != nil {
		return nil, err
	}
	for _, n := range p.methods {
		if !slices.Contains(in.methods, n) {
			in.proc.Kill()
			return nil, fmt.Errorf("plugin %s offered method %s before and does not any more", p.opts.Name, n.own)
		}
	}
	p.mu.Lock()
	p.in = in
	p.restarts++
	if p.state == Restarting {
		p.becomeLocked(Running, nil)
	}
	p.mu.Unlock()
	p.log.Info("plugin restarted", "pid", in.proc.PID(), "restarts", p.Restarts())
	return in, nil
}

// reopen opens the sessions that have no plugin and need one.
func (p *Plugin) reopen(in *incarnation) {
	for _, s := range p.all() {
		if s.wants() {
			p.spawn(func() { s.reopen(in) })
		}
	}
}

// ping pings the plugin for every session, even one that makes no calls: it may be waiting for
// messages from other processes. If a session gets no answer, or the plugin does not know it any
// more, the plugin is killed.
func (p *Plugin) ping(in *incarnation) {
	for _, s := range p.all() {
		if at := s.toPing(in); at != nil {
			p.spawn(func() {
				defer s.pinging.Store(false)
				s.ping(at)
			})
		}
	}
}

func (s *session) ping(at *attachment) {
	ctx, cancel := context.WithTimeout(s.ctx, s.plugin.opts.HangTimeout)
	defer cancel()
	_, err := at.in.client.Ping(ctx, &proto.PingRequest{Session: at.id})
	late := at.in.late(ctx, err)
	if err == nil || s.ctx.Err() != nil || !s.serves(at) {
		return
	}
	switch {
	case late:
		at.in.kill(fmt.Errorf("plugin %s was killed because it hung: it gave no sign of life within %v", at.in.name, s.plugin.opts.HangTimeout))
	case !hungUp(err): // otherwise it died
		at.in.kill(fmt.Errorf("plugin %s was killed because it closed the method of an endpoint: %w", at.in.name, said(err)))
	}
}
