package coretest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// waitMax limits a run. It is long, because machines that run tests are busy; only an error makes a
// run reach it.
const waitMax = 20 * time.Second

// A Fabric is the network between the engines of a World.
type Fabric struct {
	// Config returns the configuration of a rank's endpoint.
	Config func(rank int) bmi.Config
	// Step makes simulated time pass. If it is set, the endpoints are opened with
	// bmi.Config.Manual, and one goroutine runs everything.
	Step func()
	// Stepped has the same effect for a method that needs no Step.
	Stepped bool
	// Crash ends a rank's endpoint as kill -9 would, in simulated time. It may be nil.
	Crash func(rank int)
	// Limits are those of a rank's engine; nil means the defaults.
	Limits func(rank int) core.Limits
}

// A World is several engines that know each other.
type World struct {
	Engines []*core.Engine

	t         testing.TB
	f         Fabric
	endpoints []*bmi.Endpoint
	procs     [][]*core.Proc // by the rank that knows them
	gone      []bool         // by rank: crashed
	before    func()         // called before time passes, in simulated time; may be nil

	mu    sync.Mutex    // guards sets
	sets  int           // of communicators, given to programs
	ports []*enginePort // of all of them
}

// NewWorld opens n engines; they close when the test ends.
func NewWorld(t testing.TB, n int, f Fabric) *World {
	t.Helper()
	w := &World{t: t, f: f, gone: make([]bool, n)}
	t.Cleanup(w.close)
	cards := make([]core.Card, n)
	for rank := range n {
		w.open(rank, &cards[rank])
	}
	for _, e := range w.Engines {
		peers := make([]*core.Proc, n)
		for i, card := range cards {
			var err error
			peers[i], err = e.Proc(card)
			require.NoError(t, err)
		}
		w.procs = append(w.procs, peers)
	}
	return w
}

// manual tells whether one goroutine runs everything.
func (w *World) manual() bool { return w.f.Step != nil || w.f.Stepped }

func (w *World) open(rank int, card *core.Card) {
	cfg := w.f.Config(rank)
	cfg.Manual = w.manual()
	ep, err := bmi.Open(context.Background(), cfg)
	require.NoError(w.t, err)
	w.endpoints = append(w.endpoints, ep)
	*card = core.Card{Host: "here", Addresses: ep.Addresses()}
	card.ID[0], card.ID[15] = 0xc0, byte(rank+1)
	var limits core.Limits
	if w.f.Limits != nil {
		limits = w.f.Limits(rank)
	}
	e, err := core.New(core.Config{
		Endpoint: ep, Self: *card, Limits: limits, Manual: w.manual(), Seed: uint64(rank + 1),
	})
	require.NoError(w.t, err)
	w.Engines = append(w.Engines, e)
}

// roundsToSettle is how many rounds the engines poll at the end, in simulated time, so that
// messages in transit arrive: no rank waits for them.
const roundsToSettle = 300

// close closes the engines, all at once, because each waits until the others have read its last
// messages.
func (w *World) close() {
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	var all sync.WaitGroup
	errs := make([]error, len(w.Engines))
	for _, p := range w.ports {
		errs = append(errs, p.close())
	}
	end := func(rank int) { errs[rank] = w.Engines[rank].Close(ctx) }
	if w.manual() {
		for range roundsToSettle {
			w.step()
		}
	}
	for rank := range w.Engines {
		if w.manual() {
			end(rank)
			errs[rank] = nil // without waits Close cannot deliver its last messages
			w.step()
		} else {
			all.Go(func() { end(rank) })
		}
	}
	all.Wait()
	for rank, ep := range w.endpoints {
		if err := ep.Close(); !w.gone[rank] {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		w.t.Errorf("close the world: %v", err)
	}
}

// step lets every engine poll once, and makes time pass.
func (w *World) step() {
	if w.before != nil {
		w.before()
	}
	for rank, e := range w.Engines {
		if !w.gone[rank] {
			e.Progress()
		}
	}
	if w.f.Step != nil {
		w.f.Step()
	}
}

// Run runs a program, once for each rank, and returns when all have ended. The error names the rank
// that failed; the others are stopped. Every run has communicators of its own, so with ranks as
// goroutines several runs may be concurrent.
func (w *World) Run(program func(r *Rank) error) error {
	ports := w.newPorts()
	if w.manual() {
		return RunStepped(ports, w.step, func(rank int) bool { return w.gone[rank] }, program)
	}
	return runThreads(ports, program)
}

// newPorts makes ports for one run.
func (w *World) newPorts() (ports []Port) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rank, e := range w.Engines {
		p := newEnginePort(e, firstContext+w.sets*commsMax, rank, w.procs[rank])
		w.ports = append(w.ports, p)
		ports = append(ports, p)
	}
	w.sets++
	return ports
}

// runThreads gives every rank a goroutine.
func runThreads(ports []Port, program func(r *Rank) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	ended := make(chan error, len(ports))
	for n, port := range ports {
		go func() {
			err := errEnded
			defer func() { ended <- err }()
			err = of(n, program(NewRank(ctx, port, n, nil)))
		}()
	}
	var first error
	for range ports {
		select {
		case err := <-ended:
			if first == nil && err != nil {
				first = err
				cancel()
			}
		case <-time.After(waitMax + waitMax/4):
			return errors.Join(first, fmt.Errorf("coretest: a rank waits where no context ends it\n%s", stacks()))
		}
	}
	return first
}

var errEnded = errors.New("coretest: a rank ended its goroutine")

func of(rank int, err error) error {
	if err != nil {
		return fmt.Errorf("rank %d: %w", rank, err)
	}
	return nil
}

func stacks() []byte {
	b := make([]byte, 1<<20)
	return b[:runtime.Stack(b, true)]
}

// guarded runs a program and turns a panic into an error with its stack, which would otherwise be
// lost.
func guarded(program func(r *Rank) error, r *Rank) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("coretest: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return program(r)
}

// roundsMax limits a stepped run, in rounds in which every rank runs once.
const roundsMax = 300_000

// RunStepped runs the ranks in turn in one goroutine, and calls step in between. A waiting rank
// yields. gone tells which ranks get no more turns; it may be nil.
func RunStepped(ports []Port, step func(), gone func(rank int) bool, program func(r *Rank) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	turns := make([]func() (error, bool), len(ports))
	for n, port := range ports {
		next, stop := iter.Pull(func(yield func(error) bool) {
			r := NewRank(ctx, port, n, func() { yield(nil) })
			yield(of(n, guarded(program, r)))
		})
		defer stop()
		turns[n] = next
	}
	defer cancel() // before the stops, so that ranks that still wait give up
	for range roundsMax {
		left := false
		for n, next := range turns {
			if gone != nil && gone(n) {
				continue
			}
			err, more := next()
			if err != nil {
				return err
			}
			left = left || more
		}
		if !left {
			return nil
		}
		step()
	}
	return fmt.Errorf("coretest: the program is not live: not over after %d rounds", roundsMax)
}
