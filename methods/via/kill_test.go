package via_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

var killRounds = flag.Int("kill.rounds", 0, "how often TestKill kills the other side (0: 500, or 20 with -short)")

// killVariable makes the test binary the victim of TestKill.
const killVariable = "VIADUCT_VIA_VICTIM"

// churnSizes are the messages that both sides of TestKill exchange, by tag:
// inline, in a buffer, of two packets, and moved by RDMA from one and both sides.
var churnSizes = []int{8, 4 << 10, 12 << 10, 20 << 10, 256 << 10, 1 << 20}

// churnDepth is how many sends, and receives, of each tag are posted at a time.
const churnDepth = 2

// A churn keeps messages of all sizes going both ways between two endpoints.
type churn struct {
	ctx     *bmi.Context
	pending int

	// What is sent from a file, in turn with memory, arrives in memory that the peer
	// may map. ep is nil if that is not to be tried.
	ep     *bmi.Endpoint
	file   *os.File
	sent   int
	shared [][]byte
	peer   bmi.Addr
	out    [16]bmi.Completion
}

type churnOp struct {
	tag bmi.Tag
	buf []byte
}

// postRecv posts a receive that answers.
func (c *churn) postRecv(o *churnOp) error {
	p, err := c.ctx.PostRecv(c.peer, o.tag, o.buf, o)
	if err != nil {
		return err
	}
	if p.Done {
		return c.answer(o)
	}
	c.pending++
	return nil
}

// answer repeats a receive that got its message, and sends one of the same kind.
func (c *churn) answer(o *churnOp) error {
	if err := c.postSend(o.tag, len(o.buf)); err != nil {
		return err
	}
	return c.postRecv(o)
}

func (c *churn) postSend(tag bmi.Tag, size int) error {
	var p bmi.Posted
	var err error
	if c.sent++; c.ep != nil && c.sent%2 == 0 {
		p, err = c.ctx.PostSendFile(c.peer, tag, bmi.FileRange{File: c.file, Off: int64(c.sent), Len: size}, nil)
	} else {
		p, err = c.ctx.PostSend(c.peer, tag, make([]byte, size), nil)
	}
	if err == nil && !p.Done {
		c.pending++
	}
	return err
}

// receive posts the first receives, start also the first sends.
func (c *churn) receive() error {
	for tag, size := range churnSizes {
		for range churnDepth {
			buf, err := c.memory(size)
			if err == nil {
				err = c.postRecv(&churnOp{tag: bmi.Tag(tag), buf: buf})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// files makes both sides send from files, too.
func (c *churn) files(ep *bmi.Endpoint) error {
	f, err := os.CreateTemp("", "churn-")
	if err != nil {
		return err
	}
	c.ep, c.file = ep, f
	return errors.Join(os.Remove(f.Name()), f.Truncate(1<<20)) // shorter than some messages that begin late
}

// memory is for a receive.
func (c *churn) memory(size int) ([]byte, error) {
	if c.ep == nil {
		return make([]byte, size), nil
	}
	buf, err := c.ep.AllocShared(c.peer, size)
	if err == nil {
		c.shared = append(c.shared, buf)
	}
	return buf, err
}

// close gives back what nothing uses any more.
func (c *churn) close() error {
	if c.ep == nil {
		return nil
	}
	err := c.file.Close()
	for _, buf := range c.shared {
		err = errors.Join(err, c.ep.Free(c.peer, buf))
	}
	return err
}

func (c *churn) start() error {
	for tag, size := range churnSizes {
		for range churnDepth {
			if err := c.postSend(bmi.Tag(tag), size); err != nil {
				return err
			}
		}
	}
	return c.receive()
}

// turn takes completions and, while again, answers each receive with a receive
// and a send of its kind. It reports the first error that an operation ended with.
func (c *churn) turn(wait time.Duration, again bool) (failed, err error) {
	n, err := c.ctx.TestContext(c.out[:], wait)
	for _, done := range c.out[:n] {
		c.pending--
		if done.Err != nil {
			failed = done.Err
			continue
		}
		o, recv := done.User.(*churnOp)
		if !recv || !again {
			continue
		}
		if perr := c.answer(o); perr != nil {
			return failed, perr
		}
	}
	return failed, err
}

// victim is the process that TestKill kills.
func victim(spec string) error {
	var name, peer string
	if _, err := fmt.Sscanf(spec, "%s %s", &name, &peer); err != nil {
		return err
	}
	e, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{name}})
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) // the survivor is gone
	}()
	ctx, err := e.OpenContext()
	if err != nil {
		return err
	}
	addr, err := e.Lookup(peer)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	c := &churn{ctx: ctx, peer: addr}
	if can, err := e.FileSends(addr); err == nil && can {
		if err := c.files(e); err != nil {
			return err
		}
	}
	if err := c.start(); err != nil {
		return err
	}
	for {
		failed, err := c.turn(bmi.Forever, true)
		if err != nil || failed != nil {
			return errors.Join(err, failed)
		}
	}
}

// TestKill kills the other side in the middle of traffic, again and again. Every
// operation of the survivor must end soon, nothing may stay behind,
// and the next process under the same name must be able to connect.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("VIADUCT_SHM_DIR", dir)
	rng := rand.New(rand.NewPCG(sim.Seed(t), 2))
	e, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{"via+shm://survivor"}})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	ctx, err := e.OpenContext()
	require.NoError(t, err)
	peer, err := e.Lookup("via+shm://victim")
	require.NoError(t, err)

	var slowest time.Duration
	moved, rounds := 0, *killRounds
	if rounds == 0 {
		if rounds = 500; testing.Short() {
			rounds = 20
		}
	}
	for round := range rounds {
		connected := connects(e)
		victim := startVictim(t, "via+shm://victim via+shm://survivor")
		c := &churn{ctx: ctx, peer: peer}
		require.NoError(t, c.files(e))
		if round%2 == 0 {
			require.NoError(t, c.start()) // both sides connect
		} else {
			require.NoError(t, c.receive()) // only the victim connects
		}
		for end := time.Now().Add(time.Duration(rng.IntN(20)) * time.Millisecond); time.Now().Before(end); moved++ {
			failed, err := c.turn(time.Millisecond, true)
			require.NoError(t, err)
			require.NoError(t, failed, "round %d: nobody was killed yet", round)
		}
		victim.kill()
		killed := time.Now()
		for c.pending > 0 {
			require.Less(t, time.Since(killed), wallclock.Patience, "round %d: %d operations hang: %+v", round, c.pending, e.Stats())
			_, err := c.turn(10*time.Millisecond, false)
			require.NoError(t, err)
			if c.pending > 0 && e.CheckAddr(peer) != nil {
				// Receives alone wait for the next process of that name.
				failLeftovers(t, c)
			}
		}
		slowest = max(slowest, time.Since(killed))
		wallclock.Under(t, time.Since(killed), time.Second, fmt.Sprintf("the end of round %d", round))
		require.NoError(t, c.close())
		if connects(e) > connected {
			requireOnly(t, dir, "survivor")
		} else {
			t.Logf("round %d: killed before it connected, nobody noticed that it was there", round)
		}
	}
	t.Logf("%d kills, slowest end of all operations %v after the kill", rounds, slowest)
	require.NotZero(t, moved)
}

// failLeftovers meets receives that were posted after the death was noticed, or
// before there was a connection: a send to the dead peer fails them.
func failLeftovers(t *testing.T, c *churn) {
	t.Helper()
	require.NoError(t, c.postSend(99, 8))
}

// A victimProcess is the other side.
type victimProcess struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.Closer
	over sync.Once
}

func startVictim(t *testing.T, spec string) *victimProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), killVariable+"="+spec)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	v := &victimProcess{t: t, cmd: cmd, in: in}
	t.Cleanup(v.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return v
}

// kill leaves it no time for anything, even if it is stopped.
func (v *victimProcess) kill() {
	v.over.Do(func() {
		assert.NoError(v.t, v.cmd.Process.Kill())
		_ = v.cmd.Wait() // reports the kill
		_ = v.in.Close()
	})
}

func (v *victimProcess) signal(s os.Signal) {
	v.t.Helper()
	require.NoError(v.t, v.cmd.Process.Signal(s))
}

// exits waits until the victim exits because one of its operations has failed.
func (v *victimProcess) exits(limit time.Duration) {
	v.t.Helper()
	v.over.Do(func() {
		late := time.AfterFunc(limit, func() { _ = v.cmd.Process.Kill() })
		err := v.cmd.Wait()
		assert.True(v.t, late.Stop(), "it does not notice within %v", limit)
		assert.Error(v.t, err)
		_ = v.in.Close()
	})
}

// connects counts the connections that an endpoint ever had.
func connects(e *bmi.Endpoint) (n uint64) {
	for _, m := range e.Stats().Methods {
		n += m.Connects
	}
	return n
}

// requireOnly waits until the named socket is the only one in dir.
func requireOnly(t *testing.T, dir, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		files = slices.DeleteFunc(files, func(e os.DirEntry) bool { return e.Type() != os.ModeSocket })
		return len(files) == 1 && files[0].Name() == name
	}, wallclock.Patience, 5*time.Millisecond, "something stays behind")
}
