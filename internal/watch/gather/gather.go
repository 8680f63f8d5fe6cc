package gather

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

// Limits of one view.
const (
	// timeMax is how long a view waits for processes that do not answer.
	timeMax = 3 * time.Second
	// atOnceMax is how many processes are asked at the same time.
	atOnceMax = 16
	// rowsMax limits the rows of all processes that are held at once: with many processes, the page must not begin far down.
	rowsMax = 1_000_000
)

// A Gatherer makes views of the processes behind some targets. Its methods may be called by several goroutines.
type Gatherer struct {
	targets []Target
	timeMax time.Duration
	joiner  view.Joiner

	mu      sync.Mutex
	sources map[string]*source // by target
}

// New checks nothing: processes may appear and disappear.
func New(targets []Target) *Gatherer {
	return &Gatherer{targets: targets, timeMax: timeMax, sources: make(map[string]*source)}
}

// Close closes the connections.
func (g *Gatherer) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, s := range g.sources {
		s.close()
		delete(g.sources, name)
	}
}

// View asks all processes, and joins what comes. Processes that do not answer are in it, with the reason.
func (g *Gatherer) View(ctx context.Context, q table.Query) (*view.View, error) {
	sources, notes := g.find()
	if top := q.Top(); len(sources)*top.Limit > rowsMax {
		return nil, fmt.Errorf("offset=%d is too far down for %d processes: sort or filter instead", q.Offset, len(sources))
	}
	samples := make([]view.Sample, len(sources))
	var group errgroup.Group
	group.SetLimit(atOnceMax)
	for i, s := range sources {
		group.Go(func() error {
			limited, cancel := context.WithTimeout(ctx, g.timeMax)
			defer cancel()
			samples[i].Target = s.target.String()
			samples[i].Snapshot, samples[i].Err = s.fetch(limited, q.Top())
			return nil
		})
	}
	_ = group.Wait() // the errors are in the samples
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v := g.joiner.Join(time.Now(), g.present(samples), q)
	v.Notes = append(notes, v.Notes...)
	return v, nil
}

// find returns the processes of the targets, and notes about folders.
func (g *Gatherer) find() (all []*source, notes []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	used := make(map[string]bool)
	use := func(t Target, inFolder bool) {
		name := t.String()
		if used[name] {
			return
		}
		used[name] = true
		if g.sources[name] == nil {
			g.sources[name] = newSource(t, inFolder)
		}
		all = append(all, g.sources[name])
	}
	for _, t := range g.targets {
		if t.kind != folder {
			use(t, false)
			continue
		}
		found, foreign, err := list(t.at)
		if err != nil {
			notes = append(notes, err.Error())
		}
		if foreign > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d sockets of other users are not asked", t, foreign))
		}
		for _, one := range found {
			use(one, true)
		}
	}
	for name, s := range g.sources {
		if !used[name] {
			s.close()
			delete(g.sources, name)
		}
	}
	return all, notes
}

// present leaves out processes of folders that have ended. Their sockets may still exist, but nobody listens.
func (g *Gatherer) present(samples []view.Sample) (all []view.Sample) {
	named := make(map[string]bool)
	for _, t := range g.targets {
		named[t.String()] = true
	}
	for _, one := range samples {
		if named[one.Target] || !errors.Is(one.Err, errGone) {
			all = append(all, one)
		}
	}
	return all
}
