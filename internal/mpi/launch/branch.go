package launch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
)

// A branch is one node of the tree with its links: the launcher's, or an agent's. One goroutine owns
// it, and takes the arrivals.
type branch struct {
	hello wire.Hello // the parent's description of this node
	node  *tree.Node
	// up takes frames for the parent, or the launcher, and here those for this host's processes.
	up, here func(wire.Frame)
	// direct are children that run on this host, so that no shell is needed.
	direct map[int]bool

	children map[int]*child
	inbox    chan arrival
	over     chan struct{} // closed when arrivals are not taken any more
	readers  sync.WaitGroup
}

// A child is the agent of another host, and the command that started it.
type child struct {
	link *link
	cmd  *exec.Cmd
	last latestLine
	said chan struct{} // closed when the command says nothing more
}

// agentArgument makes the program an agent.
const agentArgument = "--viaduct-agent"

// newBranch makes a branch without starting its children. After it, up and here are called.
func newBranch(hello wire.Hello, direct map[int]bool, up, here func(wire.Frame)) *branch {
	return &branch{
		hello: hello, direct: direct, up: up, here: here,
		children: map[int]*child{}, inbox: make(chan arrival), over: make(chan struct{}),
	}
}

// start starts the agents of the children.
func (b *branch) start() {
	first, count := tree.Children(b.hello.Node, b.hello.Arity, b.hello.Nodes)
	names := map[int]string{}
	below := make([][]wire.Host, count)
	for _, h := range b.hello.Hosts {
		names[h.Node] = h.Name
		if h.Node != b.hello.Node && h.Node < b.hello.Nodes && tree.Below(h.Node, b.hello.Node, b.hello.Arity) {
			i := tree.Toward(b.hello.Node, h.Node, b.hello.Arity) - first
			below[i] = append(below[i], h)
		}
	}
	node, actions := tree.New(tree.Config{Node: b.hello.Node, Arity: b.hello.Arity, Nodes: b.hello.Nodes, KeepGoing: b.hello.KeepGoing})
	b.node = node
	b.do(actions)
	for i := range count {
		if err := b.startChild(first+i, names[first+i], below[i]); err != nil {
			b.readers.Go(func() { b.tell(arrival{from: first + i, why: err.Error()}) })
		}
	}
}

// unbracketed removes the brackets around an address of IPv6, which ssh does not know.
var unbracketed = strings.NewReplacer("[", "", "]", "")

// startChild starts the agent of one child, and says hello to it.
func (b *branch) startChild(at int, name string, below []wire.Host) error {
	words := append(slices.Clone(b.hello.Shell), unbracketed.Replace(name))
	if b.direct[at] {
		words = nil
	}
	words = append(words, b.hello.Agent, agentArgument)
	path, err := exec.LookPath(words[0])
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: path, Args: words, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}} // the terminal's signals are not for it
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c := &child{cmd: cmd, link: newLink(in), said: make(chan struct{})}
	b.children[at] = c
	hello := b.hello
	hello.Node, hello.Hosts = at, below
	b.readers.Go(func() { b.readErrors(at, c, errs) })
	b.readers.Go(func() { b.read(at, c, out) })
	return c.link.send(&hello)
}

// tell passes an arrival to the owner. false: the owner takes no arrivals any more.
func (b *branch) tell(a arrival) bool {
	select {
	case b.inbox <- a:
		return true
	case <-b.over:
		return false
	}
}

// read reads the frames of a child.
func (b *branch) read(at int, c *child, out io.Reader) {
	r := bufio.NewReaderSize(out, 64<<10)
	junk, err := readMagic(r)
	for line := range strings.Lines(string(junk)) {
		b.say(at, line)
	}
	for err == nil {
		var f wire.Frame
		if f, err = readFrame(r); err == nil && !b.tell(arrival{from: at, frame: f}) {
			break
		}
	}
	why := how(err)
	select {
	case <-c.said:
	case <-time.After(50 * lastWords): // processes that it has started may keep its error output open
	case <-b.over:
	}
	if last := c.last.get(); last != "" {
		why = last
	}
	b.tell(arrival{from: at, why: why})
	_, _ = io.Copy(io.Discard, r) // so that it does not wait for us
}

// latestLine is the latest line of a command, which may say why it has ended.
type latestLine struct {
	mu   sync.Mutex
	text string
}

func (l *latestLine) set(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = text
}

func (l *latestLine) get() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}

// readErrors passes on what the command that starts an agent says.
func (b *branch) readErrors(at int, c *child, errs io.Reader) {
	defer close(c.said)
	r := bufio.NewReaderSize(errs, wire.TextBytesMax/2)
	for {
		line, err := r.ReadSlice('\n')
		if text := strings.TrimSpace(string(line)); text != "" {
			c.last.set(text)
			b.say(at, text)
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// say passes on a sentence about a child.
func (b *branch) say(at int, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	b.tell(arrival{from: at, frame: &wire.Say{Node: at, Text: text[:min(len(text), wire.TextBytesMax)]}})
}

// take handles an arrival.
func (b *branch) take(a arrival) {
	switch {
	case a.frame != nil:
		b.do(b.node.Receive(a.from, a.frame))
	case a.more != nil:
		a.more()
	default:
		b.lose(a.from, a.why)
	}
}

// lose gives up a child.
func (b *branch) lose(at int, why string) {
	if c := b.children[at]; c != nil {
		c.link.close()
	}
	b.do(b.node.Lost(at, why[:min(len(why), wire.TextBytesMax)]))
}

// do carries out the node's actions.
func (b *branch) do(actions []tree.Action) {
	for _, a := range actions {
		switch {
		case a.To == tree.Up:
			b.up(a.Frame)
		case a.To == tree.Here:
			b.here(a.Frame)
		case b.children[a.To] == nil: // it could not be started
		case a.Frame == nil:
			b.children[a.To].kill()
		default:
			if err := b.children[a.To].link.send(a.Frame); err != nil {
				b.children[a.To].kill() // its reader reports the end
			}
		}
	}
}

func (c *child) kill() { _ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL) }

// end closes the links to the children, and waits until their commands have ended. What takes longer
// than the grace period is killed: its agent ends when its input does.
func (b *branch) end(grace time.Duration) {
	close(b.over)
	for _, c := range b.children {
		c.link.close()
	}
	late := time.AfterFunc(grace, func() {
		for _, c := range b.children {
			c.kill()
		}
	})
	defer late.Stop()
	b.readers.Wait()
	for _, c := range b.children {
		_ = c.cmd.Wait() // its end has been reported, or is not needed any more
		<-c.link.ended
	}
}

// hostName is the name of this machine.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return fmt.Sprintf("process %d", os.Getpid())
	}
	return name
}
