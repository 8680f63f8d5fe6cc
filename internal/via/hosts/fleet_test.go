//go:build linux

package hosts

import (
	"fmt"
	"io"
	"net/netip"
	"net/rpc"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/netns"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

const (
	// secure and insecure are how nodes are opened.
	secure   = "VIADUCT_UDP_KEY=5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed"
	insecure = "VIADUCT_UDP_INSECURE=1"

	// port is where every node listens.
	port = 7000
	// within bounds what a test waits for.
	within = wallclock.Patience
)

// mixed are messages of every kind: in a packet, in a buffer, of several packets, and
// read by RDMA.
var mixed = []int{8, 4 << 10, 0, 12 << 10, 300, 20 << 10, 256 << 10, 1 << 20}

// A process is a Node, as the test sees it.
type process struct {
	t    *testing.T
	host *netns.Host
	cmd  *exec.Cmd
	rpc  *rpc.Client
	at   string // where it listens
}

// start starts a process on a host. mode is secure or insecure.
func start(t *testing.T, h *netns.Host, mode string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "VIADUCT_UDP_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, nodeVariable+"=1", mode)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, h.Start(cmd))
	p := &process{t: t, host: h, cmd: cmd}
	p.rpc = rpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in})
	t.Cleanup(p.stop)
	return p
}

// fleet starts a process on each host, which listens at its address of IPv4.
func fleet(t *testing.T, hosts []*netns.Host, mode string) (all []*process) {
	t.Helper()
	for _, h := range hosts {
		all = append(all, start(t, h, mode).open(listenAt(h.Addr)))
	}
	return all
}

// listenAt is an address as text.
func listenAt(a netip.Addr) string { return netip.AddrPortFrom(a, port).String() }

func (p *process) call(method string, args, reply any) {
	p.t.Helper()
	c := p.rpc.Go("Node."+method, args, reply, nil)
	select {
	case <-c.Done:
		require.NoError(p.t, c.Error)
	case <-time.After(within):
		require.Fail(p.t, method+" does not end")
	}
}

func (p *process) open(listen string) *process {
	p.t.Helper()
	p.call("Open", listen, &p.at)
	return p
}

// kill ends the process as it stands.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // one that has ended is as good
	_ = p.rpc.Close()
	_ = p.cmd.Wait()
}

// stop ends the process in good order, or else by force.
func (p *process) stop() {
	if p.cmd.ProcessState != nil {
		return
	}
	force := time.AfterFunc(within, func() {
		p.t.Errorf("the node at %s does not end", p.at)
		_ = p.cmd.Process.Kill()
	})
	defer force.Stop()
	_ = p.rpc.Close()
	if err := p.cmd.Wait(); !p.t.Failed() {
		assert.NoError(p.t, err)
	}
}

func (p *process) moved() (n uint64) {
	p.t.Helper()
	p.call("Moved", 0, &n)
	return n
}

// busy waits until the process received so many messages more.
func (p *process) busy(more uint64) {
	p.t.Helper()
	before := p.moved()
	require.Eventually(p.t, func() bool { return p.moved() >= before+more }, within, time.Millisecond, "nothing moves")
}

func (p *process) stats() (s bmi.MethodStats) {
	p.t.Helper()
	p.call("Stats", 0, &s)
	return s
}

// A conversation is Talks under way.
type conversation struct {
	t     *testing.T
	all   []*process
	calls []*rpc.Call
	count int
}

// conversations counts the conversations of all tests.
var conversations atomic.Uint32

// converse makes each process talk with all others. way returns the address at which from reaches to, or "" if
// to must connect. converse sets the fields of the Talks that the caller leaves open.
func converse(t *testing.T, all []*process, way func(from, to int) string, talks ...Talk) *conversation {
	t.Helper()
	c, first := &conversation{t: t, all: all}, tags*bmi.Tag(conversations.Add(1))
	for i, p := range all {
		one := talks[i%len(talks)]
		one.Me, one.Seed, one.Tag = i, uint64(first), first
		if one.Within == 0 {
			one.Within = within
		}
		for j := range all {
			if i != j {
				one.Partners = append(one.Partners, Partner{Index: j, Addr: way(i, j), Greets: way(j, i) != ""})
			}
		}
		if !one.Open {
			c.count += one.Count * len(one.Partners)
		}
		c.calls = append(c.calls, p.rpc.Go("Node.Talk", one, &Told{}, nil))
	}
	return c
}

// firstCalls: of two processes the one that comes first in all connects, and greets
// the other.
func firstCalls(all []*process) func(from, to int) string {
	return func(from, to int) string {
		if from < to {
			return all[to].at
		}
		return ""
	}
}

// allCall: both connect, and greet each other.
func allCall(all []*process) func(from, to int) string {
	return func(_, to int) string { return all[to].at }
}

// end waits for the end of the talk of one of them.
func (c *conversation) end(i int) *Told {
	c.t.Helper()
	select {
	case <-c.calls[i].Done:
		require.NoError(c.t, c.calls[i].Error, "node %d", i)
	case <-time.After(2 * within):
		require.Fail(c.t, fmt.Sprintf("node %d does not say how it went", i))
	}
	return c.calls[i].Reply.(*Told)
}

// well waits for the end of all talks, and requires that nothing has failed.
func (c *conversation) well() {
	c.t.Helper()
	received := 0
	for i := range c.calls {
		told := c.end(i)
		require.Zero(c.t, told.Failed, "node %d: %s", i, told.Err)
		received += told.Received
	}
	require.Equal(c.t, c.count, received)
}

// finish ends open talks, each after as many messages, and waits for the ends.
func (c *conversation) finish() {
	c.t.Helper()
	count := 0
	for _, p := range c.all { // none posts more from now on
		var posted int
		p.call("Limit", 0, &posted)
		count = max(count, posted)
	}
	for _, p := range c.all {
		p.call("Limit", count, new(int))
		c.count += count * (len(c.all) - 1)
	}
	c.well()
}

// open is a Talk of messages of the same sizes both ways that goes on until finish: it is under way however long
// the test takes to get in its way.
func open(window int, sizes ...int) Talk {
	return Talk{Count: Forever, Open: true, Window: window, Send: sizes, Recv: sizes}
}

// each is a Talk of messages of the same sizes both ways; of fewer where everything is
// slow, and in the fast tier.
func each(count, window int, sizes ...int) Talk {
	switch {
	case count == Forever:
	case testing.Short():
		count = max(count/8, min(count/2, 25))
	case race.Enabled:
		count = max(count/4, 2)
	}
	return Talk{Count: count, Window: window, Send: sizes, Recv: sizes}
}

// addr changes the addresses of a host's device by the program ip.
func addr(t *testing.T, h *netns.Host, command string) {
	t.Helper()
	_, err := h.Run("ip", append(strings.Fields(command), "dev", h.Device)...)
	require.NoError(t, err)
}
