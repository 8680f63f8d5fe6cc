package launch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/server"
)

// An agent starts and serves the processes of one host for a launcher on another one. Its decisions
// are the launcher's. When its parent is gone, it ends its processes and itself.
type agent struct {
	*branch
	job    *job
	parent *link
	out    *budget // output of the processes that has not been written to the parent
	fences *queue  // passes fences to the tree; a queue, because the calling goroutine may be the one that owns the branch
	input  *queue  // for rank 0; nil before there is one
	stdin  *os.File

	mu   sync.Mutex
	asks map[int]chan *wire.Answer // questions without an answer
	last int                       // number of the latest question

	groups map[int]*hosted
	ending bool // the parent is gone
}

// hosted is the part of a group of processes that is on this host.
type hosted struct {
	*group
	initialized int // how many have called Init, or ended
	some, all   bool
}

// BecomeAgent does not return if this program was started as an agent. A program that sets
// Config.Hosts must call it before anything else, after BecomeGuard.
func BecomeAgent() {
	if len(os.Args) != 2 || os.Args[1] != agentArgument {
		return
	}
	// Processes would inherit signals that are ignored.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGPIPE)
	if err := serveAgent(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(CodeFailed)
	}
	os.Exit(0)
}

// serveAgent runs an agent. in and out lead to its parent.
func serveAgent(in io.Reader, out io.WriteCloser) error {
	if _, err := io.WriteString(out, wire.Magic); err != nil {
		return err
	}
	r := bufio.NewReaderSize(in, 64<<10)
	first, err := readFrame(r)
	if err != nil {
		return err
	}
	hello, ok := first.(*wire.Hello)
	switch {
	case !ok:
		return fmt.Errorf("%w: %T instead of a greeting", wire.ErrMalformed, first)
	case hello.Version != wire.Version:
		return fmt.Errorf("this is version %d of the protocol between agents, and the launcher has version %d: install the same release everywhere", wire.Version, hello.Version)
	case hello.Node < 1 || hello.Node >= hello.Nodes || hello.Arity < 1 || len(hello.Secret) != pmi.SecretBytes:
		return fmt.Errorf("%w: node %d of %d in a greeting", wire.ErrMalformed, hello.Node, hello.Nodes)
	}
	a := &agent{parent: newLink(out), out: newBudget(tree.OutputWindow), fences: newQueue(), asks: map[int]chan *wire.Answer{}, groups: map[int]*hosted{}}
	a.job = &job{
		cfg:  Config{Env: localEnvironment(), Grace: time.Duration(hello.GraceMillis) * time.Millisecond, KeepGoing: hello.KeepGoing}.withDefaults(),
		name: hello.Job, secret: hello.Secret, forks: newForks(),
		events: make(chan event), over: make(chan struct{}), early: map[int64]*process{}, kill: time.NewTimer(time.Hour),
	}
	a.job.kill.Stop()
	a.job.output = a.output
	a.branch = newBranch(*hello, nil, a.toParent, a.take)
	a.job.cfg.Report = func(text string) {
		a.fromHere(&wire.Say{Node: hello.Node, Text: text[:min(len(text), wire.TextBytesMax)]})
	}
	if a.job.guard, err = startGuard(); err != nil {
		return err
	}
	a.branch.start()
	go a.readParent(r)
	a.loop()
	return nil
}

// localEnvironment returns the variables that processes get from their host.
func localEnvironment() (env []string) {
	for _, pair := range os.Environ() {
		if key, _, _ := strings.Cut(pair, "="); slices.Contains(hostVariables, key) {
			env = append(env, pair)
		}
	}
	return env
}

func (a *agent) readParent(r *bufio.Reader) {
	for {
		f, err := readFrame(r)
		if err != nil || !a.tell(arrival{from: tree.Up, frame: f}) {
			a.tell(arrival{from: tree.Up, more: a.orphaned})
			return
		}
	}
}

func (a *agent) toParent(f wire.Frame) {
	if err := a.parent.send(f); err != nil {
		a.orphaned()
	}
}

// toNode passes a frame of this host to the node, from any goroutine but the owner's.
func (a *agent) toNode(f wire.Frame) { a.tell(arrival{from: tree.Here, frame: f}) }

// fromHere passes a frame of this host to the node, from the owner.
func (a *agent) fromHere(f wire.Frame) { a.do(a.node.Receive(tree.Here, f)) }

// orphaned ends all processes, because the parent is gone.
func (a *agent) orphaned() {
	if a.ending {
		return
	}
	a.ending = true
	a.parent.close()
	for _, c := range a.children {
		c.link.close() // they do the same at once
	}
	a.signalAll(unix.SIGTERM)
	a.signalAll(unix.SIGCONT)
	a.job.kill.Reset(a.job.cfg.Grace)
}

func (a *agent) signalAll(s unix.Signal) {
	for _, g := range a.groups {
		g.signal(s, false)
	}
}

// loop serves until the parent is gone and no process is left.
func (a *agent) loop() {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(terminated)
	for !a.ending || a.job.running > 0 {
		select {
		case x := <-a.inbox:
			a.branch.take(x)
		case e := <-a.job.events:
			a.takeEvent(e)
		case <-terminated:
			a.orphaned()
		case <-a.job.kill.C:
			a.signalAll(unix.SIGKILL)
		}
	}
	close(a.job.over)
	a.out.close()
	for _, g := range a.groups {
		g.server.Close()
	}
	a.fences.close()
	a.branch.end(a.job.cfg.Grace)
	<-a.fences.ended
	a.job.goroutines.Wait()
	a.job.forks.end()
	a.job.guard.end()
}

// take handles a frame of the tree for the processes of this host.
func (a *agent) take(f wire.Frame) {
	switch f := f.(type) {
	case *wire.Start:
		a.start(f)
	case *wire.Release:
		g := a.groups[f.Group]
		if g == nil {
			return
		}
		if f.Last {
			g.server.Release(fromTree(f.Pairs))
		} else {
			g.server.Learn(fromTree(f.Pairs))
		}
	case *wire.Answer:
		a.mu.Lock()
		answer := a.asks[f.Ask]
		delete(a.asks, f.Ask)
		a.mu.Unlock()
		if answer != nil {
			answer <- f // it has room
		}
	case *wire.Signal:
		if g := a.groups[f.Group]; g != nil {
			g.signal(unix.Signal(f.Number), f.Alone)
		}
	case *wire.Input:
		a.takeInput(f)
	case *wire.Who:
		if g := a.groups[f.Group]; g != nil {
			ranks := g.notReady()
			shown := min(len(ranks), wire.MissingMax)
			a.fromHere(&wire.Missing{Group: f.Group, Ranks: ranks[:shown], More: len(ranks) - shown})
		}
	case *wire.OutputTaken:
		a.out.give(f.Bytes)
	}
}

// start starts the processes of a group that belong here.
func (a *agent) start(f *wire.Start) {
	g := a.newHosted(f)
	a.groups[f.Group] = g
	if err := a.startAll(g, f); err != nil {
		class := slices.IndexFunc(failures, func(class error) bool { return errors.Is(err, class) })
		text := err.Error()
		if class >= 0 {
			text = strings.TrimPrefix(text, failures[class].Error()+": ")
		}
		a.fromHere(&wire.Failed{Group: f.Group, Node: a.hello.Node, Class: max(class, 0), Text: text[:min(len(text), wire.TextBytesMax)]})
		// Those that were not started have ended.
		for _, p := range g.processes {
			if p.cmd == nil || p.cmd.Process == nil {
				p.gone = true
				a.fromHere(&wire.Ended{Group: f.Group, Runs: []wire.Run{{Rank: p.rank, Count: 1, Status: CodeFailed << 8}}})
			}
		}
	} else {
		a.fromHere(&wire.Started{Group: f.Group})
	}
	a.checkDone(g)
}

// startAll starts processes until one cannot be started.
func (a *agent) startAll(g *hosted, f *wire.Start) (err error) {
	a.job.cfg.ReportBindings = f.Report
	if a.job.bound, err = newBinding(f.Bind); err != nil {
		return err
	}
	if a.job.running+len(g.processes) > processesMax {
		return fmt.Errorf("%w: a host has at most %d", ErrCount, processesMax)
	}
	resolved := map[int]Program{}
	a.job.forks.crowd(a.job.running + len(g.processes))
	for _, p := range g.processes {
		program, there := resolved[p.app]
		if !there {
			if program, err = p.program.resolve(); err != nil {
				return err
			}
			program.name = p.program.name
			resolved[p.app] = program
		}
		p.program = program
		var in *os.File
		if p.rank == 0 && g.number == 0 {
			if in, a.stdin, err = os.Pipe(); err != nil {
				return err
			}
			a.input = newQueue()
		}
		if err := p.start(in); err != nil {
			return err
		}
		a.job.running++
		g.running++
	}
	return nil
}

// newHosted makes a group without starting it.
func (a *agent) newHosted(f *wire.Start) *hosted {
	g := &hosted{group: &group{number: f.Group}}
	ends := make([]int, len(f.Programs)) // the rank after the last of each program
	for i, p := range f.Programs {
		g.size += p.N
		ends[i] = g.size
	}
	ranks := tree.Ranks(f.Blocks, a.hello.Node, g.size)
	app := 0
	for local, rank := range ranks {
		for rank >= ends[app] {
			app++
		}
		p := f.Programs[app]
		g.processes = append(g.processes, &process{
			job: a.job, group: g.group, rank: rank, local: local, app: app,
			program: Program{N: p.N, Path: p.Path, Args: p.Args, Env: slices.Concat(f.Env, p.Env), Dir: p.Dir, name: p.Name},
		})
	}
	preput := map[string]string{}
	for _, pair := range f.Preput {
		preput[pair.Key] = pair.Value
	}
	g.server = server.New(server.Config{
		Name: a.job.groupName(f.Group), Size: g.size, Universe: f.Universe, AppNum: g.app,
		Preput: preput, Names: services{a}, Here: ranks, Changed: g.changed, Abort: g.abort,
		Fence: func(pairs []pmiPair) { a.tellFence(f.Group, pairs) },
		Get:   func(rank int, key string) (string, bool) { return a.get(g, rank, key) },
		Spawn: func(rank int, programs []pmiSpawn) ([]int, error) { return a.spawn(g, rank, programs) },
	})
	return g
}

// takeInput writes input of rank 0.
func (a *agent) takeInput(f *wire.Input) {
	if a.input == nil {
		return
	}
	stdin := a.stdin
	if f.End {
		a.input.add(func() { _ = stdin.Close() })
		a.input.close()
		return
	}
	a.input.add(func() {
		_, _ = stdin.Write(f.Data) // rank 0 may be gone, or read nothing more
		a.toNode(&wire.InputTaken{Bytes: len(f.Data)})
	})
}

// takeEvent handles an event of a process.
func (a *agent) takeEvent(e event) {
	switch e.kind {
	case changed:
		if e.state == server.Ready {
			g := a.groups[e.process.group.number]
			g.some = true
			g.initialized++
			a.fromHere(&wire.State{Group: g.number})
			a.checkState(g)
		}
	case aborted, babbled:
		text := e.text
		if e.err != nil {
			text = e.err.Error()
		}
		a.fromHere(&wire.Abort{
			Group: e.process.group.number, Rank: e.process.rank, Process: e.process.cmd.Process.Pid,
			Code: e.code & 0xff, Text: text[:min(len(text), wire.TextBytesMax)], Babble: e.kind == babbled,
		})
	case ended:
		a.takeEnd(e.process)
	}
}

// checkState reports, once, that all processes here have called Init or ended.
func (a *agent) checkState(g *hosted) {
	if g.some && !g.all && g.initialized == len(g.processes) {
		g.all = true
		a.fromHere(&wire.State{Group: g.number, All: true})
	}
}

func (a *agent) takeEnd(p *process) {
	g := a.groups[p.group.number]
	a.job.running--
	g.running--
	p.gone = true
	if p.rank == 0 && g.number == 0 && a.stdin != nil {
		_ = a.stdin.Close() // a descendant may hold the other end open
	}
	state := g.server.State(p.rank)
	status := p.waitStatus()
	a.fromHere(&wire.Ended{Group: g.number, Runs: []wire.Run{{
		Rank: p.rank, Count: 1, Status: int(status), State: int(state), Process: p.cmd.Process.Pid,
	}}})
	if state == server.Started {
		g.initialized++
		a.checkState(g)
	}
	// A process that ends as it should, or with the others' leave, is not waited for in fences. Any
	// other end is the launcher's to judge.
	if a.hello.KeepGoing || state != server.Ready && status == 0 || state == server.Finalized {
		g.server.Gone(p.rank)
	}
	a.checkDone(g)
}

// checkDone reports when no process of a group is left here, and forgets the group.
func (a *agent) checkDone(g *hosted) {
	if g.running > 0 {
		return
	}
	g.server.Close()
	delete(a.groups, g.number)
	a.fromHere(&wire.Ended{Group: g.number, Done: true})
}
