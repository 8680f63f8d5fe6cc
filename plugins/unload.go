package plugins

import (
	"context"
	"fmt"
	"time"
)

// stopTimeout is how long a process may take to end by itself, unless the context has an earlier
// deadline.
const stopTimeout = 2 * time.Second

// Unload unregisters the methods, restores the methods that Options.Replace replaced, and ends the
// process; if it does not end in time, it is killed. Present and later operations of endpoints that
// have a method open fail with ErrUnloaded; such an endpoint can only be closed. A second Unload
// does nothing.
func (p *Plugin) Unload(ctx context.Context) error {
	p.unloading.Lock()
	defer p.unloading.Unlock()
	if p.State() == Unloaded {
		return nil
	}
	loaded.Lock()
	p.unregister()
	loaded.Unlock()

	gone := &failure{ErrUnloaded, fmt.Sprintf("plugins: plugin %s was unloaded, load it again and open another endpoint", p.opts.Name)}
	p.become(Unloaded, gone)
	p.cancel()
	<-p.ended
	p.mu.Lock()
	in := p.in
	p.mu.Unlock()
	limit := stopTimeout
	if until, ok := ctx.Deadline(); ok {
		limit = max(min(limit, time.Until(until)), 0)
	}
	if ctx.Err() != nil {
		limit = 0
	}
	in.gone.Store(true)
	in.proc.Stop(limit)
	for _, s := range p.all() {
		s.lost(gone, true)
	}
	p.mu.Lock()
	p.waiting = true
	p.mu.Unlock()
	p.tasks.Wait()
	p.log.Info("plugin unloaded", "path", p.path)
	return nil
}
