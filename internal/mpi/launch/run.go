package launch

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/server"
)

// A job is the state of Run. Only Run's goroutine uses the fields below "loop:".
type job struct {
	cfg    Config
	name   string
	secret []byte
	names  server.Names
	forks  forks
	guard  *guard
	stdout *output
	stderr *output
	files  outputFiles
	bound  binding
	// output returns where the output of a process goes.
	output func(p *process, errors bool) *output

	events     chan event
	over       chan struct{} // closed when the loop accepts no more events
	goroutines sync.WaitGroup
	reaped     atomic.Int64 // number of processes that have ended

	// tree starts and serves the processes if they are on several hosts; else it is nil.
	tree *branch
	fleet

	// loop:
	groups      []*group           // the first group, and the spawned ones with processes
	numbers     int                // number of groups so far
	early       map[int64]*process // ended processes, by order, while earlier ends are still missing
	heard       int64              // number of ends handled, in order
	running     int                // number of processes that have not ended
	code        int                // the first that is not 0
	ending      bool               // the processes were asked to end
	interrupted bool               // the user asked them to end
	cause       int                // exit code of the process killed by the user's signal, if none had failed before; else 0
	kill        *time.Timer
}

// An event is something that the loop must handle.
type event struct {
	kind    eventKind
	process *process      // of the first four kinds
	group   *group        // late
	state   server.State  // changed
	code    int           // aborted
	text    string        // aborted
	err     error         // babbled
	spawn   *spawnRequest // spawning
}

type eventKind int

const (
	ended    eventKind = iota // a process has ended
	changed                   // it called Init or Finalize
	aborted                   // it wants to end the job
	babbled                   // it broke the rules of PMI
	late                      // a group has waited too long in Init for some of its processes
	spawning                  // a process wants to start more
)

// tell passes an event to the loop, unless the loop has ended.
func (j *job) tell(e event) {
	select {
	case j.events <- e:
	case <-j.over:
	}
}

// Run starts a job and waits until all its processes have ended. The exit code is the first that
// was not 0, or says why the job was ended. An error says why the job could not be started; no
// process is left then either. The end of ctx ends the job.
func Run(ctx context.Context, cfg Config) (code int, err error) {
	cfg = cfg.withDefaults()
	programs, err := cfg.resolveAll(cfg.Programs, 0)
	if err != nil {
		return CodeFailed, err
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	j := &job{
		cfg: cfg, name: fmt.Sprintf("viaduct_%d_%s", os.Getpid(), hex.EncodeToString(random[:])),
		secret: make([]byte, pmi.SecretBytes), forks: newForks(),
		stdout: newOutput(cfg.Stdout, cfg.Label), stderr: newOutput(cfg.Stderr, cfg.Label),
		events: make(chan event), over: make(chan struct{}), early: map[int64]*process{}, kill: time.NewTimer(time.Hour),
	}
	j.kill.Stop()
	j.output = j.userOutput
	_, _ = rand.Read(j.secret)
	if cfg.Guard && cfg.Hosts == nil { // agents have guards of their own
		if j.guard, err = startGuard(); err != nil {
			j.forks.end()
			return CodeFailed, err
		}
	}
	if j.bound, err = newBinding(cfg.Bind); err == nil {
		if cfg.Hosts != nil {
			j.startHosts(programs)
		}
		err = j.startGroup(programs, nil)
	}
	if err != nil {
		j.end(CodeFailed)
		j.signalAll(unix.SIGKILL, false)
	}
	j.loop(ctx)
	close(j.over)
	for _, g := range j.groups {
		if g.server != nil {
			g.server.Close()
		}
	}
	if j.tree != nil {
		j.endHosts()
		err = cmp.Or(err, j.startError)
	}
	j.goroutines.Wait()
	j.forks.end()
	j.guard.end()
	j.files.close()
	return j.code, err
}

// resolveAll checks programs before any is started; running processes exist already.
func (c Config) resolveAll(programs []Program, running int) ([]Program, error) {
	if len(programs) == 0 {
		return nil, fmt.Errorf("%w: there is no program", ErrCount)
	}
	resolved := make([]Program, len(programs))
	for i, p := range programs {
		var err error
		if resolved[i], err = c.resolve(p); err != nil {
			return nil, err
		}
		if running += p.N; running > c.processesMax() {
			return nil, fmt.Errorf("%w: a job has at most %d", ErrCount, c.processesMax())
		}
	}
	if c.Hosts != nil {
		return resolved, nil // the agents need most of the descriptors
	}
	return resolved, checkDescriptors(running)
}

func (j *job) startGroup(programs []Program, preput map[string]string) error {
	g := j.newGroup(programs, preput)
	j.groups = append(j.groups, g)
	if j.tree != nil {
		return j.startOnHosts(g, programs, preput)
	}
	j.forks.crowd(j.running + len(g.processes))
	if g.number == 0 {
		return g.start(j.cfg.Stdin)
	}
	return g.start(nil)
}

// loop handles events until no process is left.
func (j *job) loop(ctx context.Context) {
	var timeout <-chan time.Time
	if j.cfg.Timeout > 0 {
		t := time.NewTimer(j.cfg.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	defer j.kill.Stop()
	cancelled := ctx.Done()
	var arrivals chan arrival
	var unreached <-chan time.Time
	if j.tree != nil {
		arrivals = j.tree.inbox
		if j.cfg.Hosts.ReachTimeout > 0 {
			t := time.NewTimer(j.cfg.Hosts.ReachTimeout)
			defer t.Stop()
			unreached = t.C
		}
	}
	for j.running > 0 {
		select {
		case e := <-j.events:
			j.take(e)
		case a := <-arrivals:
			j.tree.take(a)
		case <-unreached:
			j.takeUnreached()
		case s := <-j.cfg.Signals:
			j.takeSignal(s)
		case <-timeout:
			j.timedOut()
		case <-cancelled:
			cancelled = nil
			j.end(CodeFailed)
		case <-j.kill.C:
			j.signalAll(unix.SIGKILL, false)
			j.giveUpHosts()
		}
	}
	for _, g := range j.groups {
		g.stopLate()
	}
}

func (j *job) take(e event) {
	switch e.kind {
	case changed:
		j.takeState(e.process, e.state)
	case ended:
		j.takeEnds(e.process)
	case aborted:
		if j.ending {
			return
		}
		text := e.text
		if text == "" {
			text = "it does not say why"
		}
		j.report("%v aborted the job with exit code %d: %.500q", e.process, e.code, text)
		j.end(atLeastOne(e.code))
	case babbled:
		if !j.ending {
			j.report("%v breaks the rules of PMI, so the job is ended: %v", e.process, e.err)
		}
		j.end(CodeFailed)
	case late:
		j.takeLate(e.group)
	case spawning:
		e.spawn.answer <- j.takeSpawn(e.spawn)
	}
}

// atLeastOne returns the exit code of a job that failed: the process's code in the range of exit
// codes, but not 0.
func atLeastOne(code int) int {
	if code&0xff == 0 {
		return CodeFailed
	}
	return code & 0xff
}

func (j *job) report(format string, args ...any) { j.cfg.Report(fmt.Sprintf(format, args...)) }

// end tells all processes to end, and sets the exit code if it is 0.
func (j *job) end(code int) {
	if j.code == 0 {
		j.code = code
	}
	if j.ending {
		return
	}
	j.ending = true
	j.signalAll(unix.SIGTERM, false)
	j.signalAll(unix.SIGCONT, false) // a stopped process receives no other signal
	j.kill.Reset(j.cfg.Grace)
}

// timedOut ends a job that has run too long. SIGQUIT makes Go programs print the stacks of their
// goroutines, which are marked with the ranks, because they all look alike.
func (j *job) timedOut() {
	j.report("the job has run for %v, the time-out: it is ended", j.cfg.Timeout)
	if j.ending {
		return
	}
	j.ending = true
	j.code = cmp.Or(j.code, CodeTimeout)
	j.stderr.marks.Store(true)
	j.signalAll(unix.SIGQUIT, true)
	j.signalAll(unix.SIGCONT, false)
	j.kill.Reset(j.cfg.Grace)
}

func (j *job) signalAll(s unix.Signal, alone bool) {
	for _, g := range j.groups {
		g.signal(s, alone)
	}
}
