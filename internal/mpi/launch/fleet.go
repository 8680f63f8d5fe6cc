package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/hosts"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/server"
)

// Hosts says on which hosts a job runs, and how it gets there.
type Hosts struct {
	// List has the hosts, and Map how ranks are placed on them.
	List []hosts.Host
	Map  hosts.Map
	// Shell is the command that runs a program on a host, whose name and the program's words are added.
	Shell []string
	// Agent is the path of the program that becomes an agent there; empty means this program's.
	Agent string
	// Arity is how many agents an agent starts; 0 means ArityDefault.
	Arity int
	// Direct starts the agents of this host ("localhost" or its name) without the shell.
	Direct bool
	// ReachTimeout ends a job when some hosts have not answered after this time; 0 means no limit.
	ReachTimeout time.Duration
}

// ArityDefault is the default of Hosts.Arity: up to 16 hosts are one step away, 4,000 are three.
const ArityDefault = 16

// A fleet is the launcher's state of the agents.
type fleet struct {
	hosts      []string // the used ones
	nodes      []int    // the node of each
	up         bool     // all agents run, or are lost
	gaveUp     bool     // the processes were killed, and their ends are overdue
	startError error    // why the first processes could not be started

	written *queue // output of processes, and calls that must follow it
	input   *budget
}

// Classes of errors in a Failed, by their numbers.
var failures = []error{ErrNotExecutable, ErrNotFound, ErrDirectory, ErrCount, ErrBind}

// startHosts starts the agents of the hosts on which the programs will run.
func (j *job) startHosts(programs []Program) {
	h := j.cfg.Hosts
	n := 0
	for _, p := range programs {
		n += p.N
	}
	used := 1 + slices.Max(h.Map.Place(h.List, n))
	arity := h.Arity
	if arity < 1 {
		arity = ArityDefault
	}
	for _, host := range h.List[:used] {
		j.hosts = append(j.hosts, host.Name)
	}
	direct := map[int]bool{}
	j.nodes = make([]int, used)
	next := 1
	// A host that needs no shell is the launcher's own child: for another agent, "localhost" would be
	// another host.
	for _, first := range []bool{true, false} {
		for i, name := range j.hosts {
			if (h.Direct && h.Here(name)) == first {
				j.nodes[i] = next
				if first && next <= arity {
					direct[next] = true
				}
				next++
			}
		}
	}
	hello := wire.Hello{
		Version: wire.Version, Arity: arity, Nodes: used + 1, Job: j.name, Secret: j.secret,
		Shell: h.Shell, Agent: h.Agent, KeepGoing: j.cfg.KeepGoing, GraceMillis: max(int(j.cfg.Grace/time.Millisecond), 1),
	}
	if hello.Agent == "" {
		hello.Agent, _ = os.Executable() // fails on systems without /proc only
	}
	for i, name := range j.hosts {
		hello.Hosts = append(hello.Hosts, wire.Host{Node: j.nodes[i], Name: name})
	}
	j.written, j.input = newQueue(), newBudget(tree.OutputWindow)
	j.tree = newBranch(hello, direct, j.takeUp, func(wire.Frame) {})
	j.tree.start()
}

// Here tells whether a host is this one.
func (h *Hosts) Here(name string) bool {
	own := hostName()
	short, _, _ := strings.Cut(own, ".")
	return name == "localhost" || name == "127.0.0.1" || name == own || name == short
}

// startOnHosts starts a group. Errors come later, as Failed.
func (j *job) startOnHosts(g *group, programs []Program, preput map[string]string) error {
	at := j.cfg.Hosts.Map.Place(j.cfg.Hosts.List[:len(j.hosts)], g.size)
	for rank, p := range g.processes {
		p.host, p.node = j.hosts[at[rank]], j.nodes[at[rank]]
	}
	f := &wire.Start{
		Group: g.number, Env: portable(j.cfg.Env), Blocks: blocks(g.processes), Universe: max(j.cfg.Hosts.Map.Slots(j.cfg.Hosts.List), g.size),
		Bind: j.cfg.Bind, Report: j.cfg.ReportBindings,
	}
	for _, p := range programs {
		f.Programs = append(f.Programs, wire.Program{N: p.N, Name: p.name, Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir})
	}
	if text := tree.Mapping(f.Blocks); len(text) < mappingBytesMax {
		f.Preput = append(f.Preput, wire.Pair{Key: mapping, Value: text})
	}
	for key, value := range preput {
		f.Preput = append(f.Preput, wire.Pair{Key: key, Value: value})
	}
	j.running += g.size
	g.running = g.size
	j.tellHosts(f)
	if g.number == 0 {
		j.feedHosts(g.processes[0].node)
	}
	return nil
}

// mappingBytesMax is the longest value of PMI that a program of MPICH reads.
const mappingBytesMax = 1024

// tellHosts passes a frame down the tree.
func (j *job) tellHosts(f wire.Frame) { j.tree.do(j.tree.node.Receive(tree.Up, f)) }

// blocks describes where ranks are.
func blocks(processes []*process) (list []wire.Block) {
	for i := 0; i < len(processes); {
		b := wire.Block{First: processes[i].node, Nodes: 1, PerNode: 1}
		for i+b.PerNode < len(processes) && processes[i+b.PerNode].node == b.First {
			b.PerNode++
		}
		i += b.PerNode
		if last := len(list) - 1; last >= 0 && list[last].PerNode == b.PerNode && list[last].First+list[last].Nodes == b.First {
			list[last].Nodes++
			continue
		}
		list = append(list, b)
	}
	return list
}

// hostVariables belong to a host, or to a session on it. Processes get those of their own host's
// agent, unless their program's environment has others.
var hostVariables = []string{
	"HOSTNAME", "HOST", "DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_SESSION_ID", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR", "WINDOWID",
	"SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "SSH_AUTH_SOCK", "SSH_AGENT_PID",
	"SLURMD_NODENAME", "SLURM_NODEID",
}

// portable returns the variables that are passed to other hosts.
func portable(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		key, _, _ := strings.Cut(pair, "=")
		return slices.Contains(hostVariables, key)
	})
}

// feedHosts sends the input to rank 0.
func (j *job) feedHosts(node int) {
	if j.cfg.Stdin == nil {
		j.tellHosts(&wire.Input{Node: node, End: true})
		return
	}
	b, input := j.tree, j.input
	go func() {
		buf := make([]byte, wire.OutputBytesMax)
		for {
			n, err := j.cfg.Stdin.Read(buf)
			if n > 0 && (!input.take(n) || !b.tell(arrival{from: tree.Up, frame: &wire.Input{Node: node, Data: slices.Clone(buf[:n])}})) {
				return
			}
			if err != nil {
				b.tell(arrival{from: tree.Up, frame: &wire.Input{Node: node, End: true}})
				return
			}
		}
	}()
}

// takeUp handles a frame of the agents.
func (j *job) takeUp(f wire.Frame) {
	switch f := f.(type) {
	case *wire.Up:
		j.up = true
	case *wire.Say:
		j.report("%s: %s", j.nameOf(f.Node), f.Text)
	case *wire.Lost:
		j.takeLost(f)
	case *wire.InputTaken:
		j.input.give(f.Bytes)
	case *wire.Output:
		j.takeOutput(f)
	case *wire.Ended:
		if !f.Done {
			j.takeRuns(f)
			return
		}
		j.written.add(func() { j.tree.tell(arrival{from: tree.Up, more: func() { j.takeRuns(f) }}) })
	case *wire.Ask:
		j.takeAsk(f)
	default:
		j.takeOfGroup(f)
	}
}

// takeOfGroup handles frames about the processes of one group.
func (j *job) takeOfGroup(f wire.Frame) {
	switch f := f.(type) {
	case *wire.State:
		if g := j.group(f.Group); g != nil {
			g.ready = 1
			j.initialized(g, f.All)
		}
	case *wire.Started:
		if g := j.group(f.Group); g != nil {
			g.answerSpawn(nil)
		}
	case *wire.Missing:
		if g := j.group(f.Group); g != nil {
			slices.Sort(f.Ranks)
			j.endLate(f.Ranks, len(f.Ranks)+f.More)
		}
	case *wire.Failed:
		if g := j.group(f.Group); g != nil {
			j.takeFailed(g, f)
		}
	case *wire.Abort:
		g := j.group(f.Group)
		if g == nil {
			return
		}
		p := g.at(f.Rank)
		if p == nil {
			return
		}
		p.pid = f.Process
		if f.Babble {
			j.take(event{process: p, kind: babbled, err: errors.New(f.Text)})
			return
		}
		j.take(event{process: p, kind: aborted, code: f.Code, text: f.Text})
	}
}

// group returns a group that has processes, or nil.
func (j *job) group(number int) *group {
	i := slices.IndexFunc(j.groups, func(g *group) bool { return g.number == number })
	if i < 0 {
		return nil
	}
	return j.groups[i]
}

// nameOf returns the name of the host of a node.
func (j *job) nameOf(node int) string {
	if i := slices.Index(j.nodes, node); i >= 0 {
		return j.hosts[i]
	}
	return fmt.Sprintf("host %d", node)
}

// takeOutput passes on output, and lets more come when it has been written.
func (j *job) takeOutput(f *wire.Output) {
	var p *process
	if g := j.group(f.Group); g != nil {
		p = g.at(f.Rank)
	}
	j.written.add(func() {
		if p != nil {
			j.output(p, f.Errors).write(f.Data, p.label())
		}
		j.tree.tell(arrival{from: tree.Up, frame: &wire.OutputTaken{Bytes: len(f.Data)}})
	})
}

// takeRuns handles ends of processes. After the last frame, all have ended.
func (j *job) takeRuns(f *wire.Ended) {
	g := j.group(f.Group)
	if g == nil {
		return
	}
	for _, r := range f.Runs {
		for i := range r.Count {
			p := g.at(r.Rank + i)
			if p == nil || p.gone {
				continue
			}
			if i == 0 && r.Process > 0 {
				p.pid = r.Process
			}
			p.status, p.state = syscall.WaitStatus(r.Status), server.State(r.State)
			j.takeEnd(p)
		}
	}
	if f.Done && len(j.lose(g, func(*process) bool { return true })) > 0 {
		j.code = cmp.Or(j.code, CodeFailed)
	}
}

// lose handles processes whose end is not known, and returns their ranks.
func (j *job) lose(g *group, which func(*process) bool) (ranks []int) {
	for _, p := range g.processes {
		if !p.gone && which(p) {
			p.gone, p.told, p.status = true, true, syscall.WaitStatus(CodeFailed<<8)
			ranks = append(ranks, p.rank)
			j.running--
			g.running--
		}
	}
	if len(ranks) > 0 && g.running == 0 && g.number > 0 {
		g.answerSpawn(errOver)
		j.forget(g)
	}
	return ranks
}

// takeLost handles the loss of a host, and of those that were reached through it.
func (j *job) takeLost(f *wire.Lost) {
	var lost int
	for _, g := range slices.Clone(j.groups) {
		lost += len(j.lose(g, func(p *process) bool { return tree.Below(p.node, f.Node, j.tree.hello.Arity) }))
	}
	if lost == 0 || j.ending || j.interrupted {
		return
	}
	what := "is lost"
	if !j.up {
		what = "cannot be reached"
	}
	text := fmt.Sprintf("host %s %s (%s), and with it %s", j.nameOf(f.Node), what, f.Why, plural(lost, "process", "processes"))
	if j.cfg.KeepGoing && j.up {
		j.report("%s", text)
		j.code = cmp.Or(j.code, CodeFailed)
		return
	}
	if j.running > 0 {
		text += ": " + j.endOthers()
	}
	j.report("%s", text)
	j.end(CodeFailed)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// takeFailed handles that a process could not be started.
func (j *job) takeFailed(g *group, f *wire.Failed) {
	class := failures[0]
	if f.Class < len(failures) {
		class = failures[f.Class]
	}
	err := fmt.Errorf("%w: on %s: %s", class, j.nameOf(f.Node), f.Text)
	if g.number == 0 {
		j.startError = err
		j.end(CodeFailed)
	}
	g.abandoned = true
	g.answerSpawn(err)
	g.signal(unix.SIGKILL, false)
}

// answerSpawn tells the process that asked for a group whether it has been started.
func (g *group) answerSpawn(err error) {
	if g.spawned != nil {
		g.spawned(err)
		g.spawned = nil
	}
}

// askWho asks the agents for the ranks that have not called Init.
func (j *job) askWho(g *group) {
	if !j.ending {
		j.tellHosts(&wire.Who{Group: g.number})
	}
}

// signalHosts sends a signal to all processes of a group.
func (g *group) signalHosts(s unix.Signal, alone bool) {
	j := g.processes[0].job
	j.tellHosts(&wire.Signal{Group: g.number, Number: int(s), Alone: alone, Ending: j.ending || j.interrupted || g.abandoned})
}

// giveUpHosts kills the links to the agents if these have not ended their processes some time after the
// request to do so.
func (j *job) giveUpHosts() {
	if j.tree == nil {
		return
	}
	if j.gaveUp {
		for _, c := range j.tree.children {
			c.kill()
		}
		return
	}
	j.gaveUp = true
	j.kill.Reset(j.cfg.Grace)
}

// flushMax is how long signals for other hosts may keep this program from stopping.
const flushMax = time.Second

// flushHosts waits until all frames to the hosts have been written, because this program is about to
// stop.
func (j *job) flushHosts() {
	if j.tree == nil {
		return
	}
	for _, c := range j.tree.children {
		c.link.flush(flushMax)
	}
}

// takeUnreached ends a job some of whose hosts do not answer.
func (j *job) takeUnreached() {
	if j.up || j.ending {
		return
	}
	var names []string
	for _, node := range j.tree.node.Unreached() {
		names = append(names, j.nameOf(node))
	}
	j.report("no answer came from %s, or from a host behind, within %v: the job is ended (--init-timeout gives more time)", strings.Join(names, ", "), j.cfg.Hosts.ReachTimeout)
	j.end(CodeTimeout)
}

// takeAsk answers a question of a process.
func (j *job) takeAsk(f *wire.Ask) {
	answer := func(ok bool, text string) {
		j.tellHosts(&wire.Answer{Node: f.Node, Ask: f.Ask, Group: f.Group, OK: ok, Text: text[:min(len(text), wire.ValueBytesMax)]})
	}
	switch f.What {
	case wire.AskPublish:
		why := j.names.Publish(f.Key, f.Value)
		answer(why == "", why)
	case wire.AskUnpublish:
		why := j.names.Unpublish(f.Key)
		answer(why == "", why)
	case wire.AskLookup:
		port, ok := j.names.Lookup(f.Key)
		answer(ok, port)
	case wire.AskSpawn:
		j.askSpawn(f, func(err error) {
			if err != nil {
				answer(false, err.Error())
				return
			}
			answer(true, "")
		})
	}
}

// askSpawn starts a group for a process on another host.
func (j *job) askSpawn(f *wire.Ask, answer func(error)) {
	g := j.group(f.Group)
	if g == nil || g.at(f.Rank) == nil {
		return
	}
	parent := g.at(f.Rank).program
	r := &spawnRequest{preput: map[string]string{}}
	for _, p := range f.Programs {
		r.programs = append(r.programs, Program{N: p.N, Path: p.Path, Args: p.Args, Env: parent.Env, Dir: cmp.Or(p.Dir, parent.Dir)})
	}
	for _, pair := range f.Pairs {
		r.preput[pair.Key] = pair.Value
	}
	if err := j.takeSpawn(r); err != nil {
		answer(err)
		return
	}
	j.groups[len(j.groups)-1].spawned = answer
}

// endHosts ends the agents.
func (j *job) endHosts() {
	j.input.close()
	j.written.close()
	j.tree.end(j.cfg.Grace)
	<-j.written.ended
}
