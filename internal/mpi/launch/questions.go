package launch

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
	pmiwire "github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
)

// What PMI's server and the tree call the same.
type (
	pmiPair  = pmiwire.Pair
	pmiSpawn = pmiwire.Spawn
)

func fromTree(pairs []wire.Pair) []pmiPair {
	out := make([]pmiPair, len(pairs))
	for i, p := range pairs {
		out[i] = pmiPair(p)
	}
	return out
}

func toTree(pairs []pmiPair) []wire.Pair {
	out := make([]wire.Pair, len(pairs))
	for i, p := range pairs {
		out[i] = wire.Pair(p)
	}
	return out
}

// tellFence tells the tree that all processes of a group here wait in a fence.
func (a *agent) tellFence(group int, pairs []pmiPair) {
	const atOnce = 1 << 10 // pairs of at most 1 KiB
	a.fences.add(func() {
		for len(pairs) > atOnce {
			a.toNode(&wire.Fence{Group: group, Pairs: toTree(pairs[:atOnce])})
			pairs = pairs[atOnce:]
		}
		a.toNode(&wire.Fence{Group: group, Pairs: toTree(pairs), Last: true})
	})
}

// ask asks the tree, and waits for the answer; nil means that the job is over.
func (a *agent) ask(f *wire.Ask) *wire.Answer {
	answer := make(chan *wire.Answer, 1)
	a.mu.Lock()
	a.last++
	f.Node, f.Ask = a.hello.Node, a.last
	a.asks[f.Ask] = answer
	a.mu.Unlock()
	a.toNode(f)
	select {
	case found := <-answer:
		return found
	case <-a.job.over:
		return nil
	}
}

// get asks for a pair that no process here has put.
func (a *agent) get(g *hosted, rank int, key string) (string, bool) {
	if len(key) > wire.KeyBytesMax {
		return "", false
	}
	found := a.ask(&wire.Ask{Group: g.number, Rank: rank, What: wire.AskGet, Key: key})
	if found == nil || !found.OK || len(found.Pairs) == 0 {
		return "", false
	}
	g.server.Learn(fromTree(found.Pairs))
	return found.Pairs[0].Value, found.Pairs[0].Key == key
}

// spawn asks the launcher to start processes.
func (a *agent) spawn(g *hosted, rank int, programs []pmiSpawn) ([]int, error) {
	f := &wire.Ask{Group: g.number, Rank: rank, What: wire.AskSpawn, Pairs: toTree(programs[0].Preput)}
	count := 0
	for _, p := range programs {
		f.Programs = append(f.Programs, wire.Program{N: min(p.Processes, wire.RanksMax), Path: p.Program, Args: p.Args, Dir: spawnDir("", p.Info)})
		count += p.Processes
	}
	found := a.ask(f)
	switch {
	case found == nil:
		return nil, errOver
	case !found.OK:
		return nil, errors.New(found.Text)
	}
	return make([]int, count), nil
}

// services are the service names that the launcher keeps.
type services struct{ *agent }

// Publish implements server.Services.
func (s services) Publish(service, port string) (why string) {
	return s.change(&wire.Ask{What: wire.AskPublish, Key: service, Value: port})
}

// Unpublish implements server.Services.
func (s services) Unpublish(service string) (why string) {
	return s.change(&wire.Ask{What: wire.AskUnpublish, Key: service})
}

func (s services) change(f *wire.Ask) (why string) {
	switch found := s.ask(f); {
	case found == nil:
		return "the_job_is_over"
	case !found.OK:
		return found.Text
	}
	return ""
}

// Lookup implements server.Services.
func (s services) Lookup(service string) (port string, ok bool) {
	found := s.ask(&wire.Ask{What: wire.AskLookup, Key: service})
	if found == nil {
		return "", false
	}
	return found.Text, found.OK
}
