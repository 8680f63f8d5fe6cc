package colltest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
)

// A World is a number of ranks, in one group or two. It can be used for one Run.
type World struct {
	seed   uint64
	rng    *rand.Rand
	groups [2]int // ranks of each
	procs  []*proc
	pairs  []pair      // from × to
	turn   chan *proc  // the rank that ran returns the turn
	stuck  error       // set when no rank can go on
	faults []error     // violations of the contract
	eager  func() bool // whether the next send does not wait for its receive
	slow   []bool      // ranks that usually run only when no other can

	hosts   *coll.Hosts  // of the first group; nil: unknown
	tuning  *coll.Tuning // nil: none
	between int          // messages between hosts

	messages, bytes int
}

// New makes a world of n ranks. The seed decides all random choices.
func New(n int, seed uint64) *World { return newWorld(n, 0, seed) }

// NewInter makes a world of two groups, of a and b ranks.
func NewInter(a, b int, seed uint64) *World { return newWorld(a, b, seed) }

func newWorld(a, b int, seed uint64) *World {
	n := a + b
	w := &World{
		seed:   seed,
		rng:    rand.New(rand.NewPCG(seed, uint64(n))),
		groups: [2]int{a, b},
		pairs:  make([]pair, n*n),
		turn:   make(chan *proc),
		slow:   make([]bool, n),
	}
	switch seed % 3 {
	case 0:
		w.eager = func() bool { return false }
	case 1:
		w.eager = func() bool { return true }
	default:
		w.eager = func() bool { return w.rng.IntN(2) == 0 }
	}
	for i := range n {
		w.slow[i] = w.rng.IntN(4) == 0
		w.procs = append(w.procs, &proc{w: w, id: i, resume: make(chan struct{})})
	}
	return w
}

// On says which hosts the ranks of a World of one group are on, by any numbers. It
// returns the World.
func (w *World) On(hosts []int) *World {
	h, err := coll.NewHosts(hosts)
	if err != nil || len(hosts) != len(w.procs) {
		panic("colltest: On needs a host for each rank of a World of one group")
	}
	w.hosts = h
	return w
}

// Tune gives all ranks a tuning table. It returns the World.
func (w *World) Tune(t *coll.Tuning) *World {
	w.tuning = t
	return w
}

// Between returns the number of messages between ranks on different hosts.
func (w *World) Between() int { return w.between }

// Messages returns the number of messages that were sent.
func (w *World) Messages() int { return w.messages }

// Bytes returns the number of bytes in them.
func (w *World) Bytes() int { return w.bytes }

// Run calls f for every rank and returns when all have returned, with the errors of
// f and those that the World found.
func (w *World) Run(f func(c coll.Comm) error) error {
	return w.run(func(p *proc) error {
		c := &comm{p: p, size: w.groups[0], far: w.groups[0]}
		c.machine = coll.NewMachine(c, w.hosts, w.tuning)
		return f(c)
	})
}

// RunInter calls f for every rank of both groups, 0 and 1.
func (w *World) RunInter(f func(group int, c coll.Remote) error) error {
	return w.run(func(p *proc) error {
		c := &comm{p: p, size: w.groups[0], far: w.groups[1], farBase: w.groups[0]}
		group := 0
		if p.id >= w.groups[0] {
			group = 1
			c = &comm{p: p, base: w.groups[0], size: w.groups[1], far: w.groups[0]}
		}
		return f(group, c)
	})
}

func (w *World) run(f func(p *proc) error) error {
	for _, p := range w.procs {
		go p.main(f)
	}
	for {
		p := w.next()
		if p == nil {
			break
		}
		p.resume <- struct{}{}
		<-w.turn
	}
	w.leftovers()
	errs := []error{w.stuck}
	for _, p := range w.procs {
		if p.err != nil && w.stuck == nil {
			errs = append(errs, fmt.Errorf("rank %d: %w", p.id, p.err))
		}
	}
	if err := errors.Join(append(errs, w.faults...)...); err != nil {
		return fmt.Errorf("seed %d, groups of %v: %w", w.seed, w.groups, err)
	}
	return nil
}

// next returns the rank that runs next, nil if all are done.
func (w *World) next() *proc {
	var can, keen []*proc
	waits := false
	for _, p := range w.procs {
		switch {
		case p.done:
		case w.stuck != nil || p.ready == nil || p.ready():
			can = append(can, p)
			if !w.slow[p.id] {
				keen = append(keen, p)
			}
		default:
			waits = true
		}
	}
	if len(can) == 0 && waits {
		w.stuck = fmt.Errorf("nobody can go on: %s", w.waiting())
		return w.next()
	}
	if len(keen) > 0 && w.rng.IntN(8) > 0 {
		can = keen
	}
	if len(can) == 0 {
		return nil
	}
	return can[w.rng.IntN(len(can))]
}

func (w *World) waiting() string {
	var b strings.Builder
	for _, p := range w.procs {
		if !p.done {
			fmt.Fprintf(&b, "rank %d waits for %v; ", p.id, p.waits)
		}
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// leftovers reports messages that were not received and operations without a Wait,
// unless a rank failed.
func (w *World) leftovers() {
	if w.stuck != nil {
		return
	}
	for _, p := range w.procs {
		if p.err != nil {
			return
		}
	}
	for _, p := range w.procs {
		for _, o := range p.open {
			w.fault("rank %d never waited for %v", p.id, o)
		}
	}
	for _, pair := range w.pairs {
		for _, o := range pair.sends {
			w.fault("nobody received %v of rank %d", o, o.p.id)
		}
	}
}

func (w *World) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Errorf(format, args...))
}

// A proc is one rank, with a goroutine that runs when it has the turn.
type proc struct {
	w      *World
	id     int
	resume chan struct{}
	ready  func() bool // nil means at any time
	waits  *op         // what ready waits for
	open   []*op       // begun, and Wait not called
	done   bool
	err    error
}

func (p *proc) main(f func(p *proc) error) {
	<-p.resume
	defer func() {
		if v := recover(); v != nil {
			p.err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
		p.done = true
		p.w.turn <- p
	}()
	p.err = f(p)
}

// pause gives the turn away until the rank is ready.
func (p *proc) pause(waits *op, ready func() bool) error {
	p.ready, p.waits = ready, waits
	p.w.turn <- p
	<-p.resume
	p.ready, p.waits = nil, nil
	return p.w.stuck
}
