package tcp_test

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
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

var killRounds = flag.Int("kill.rounds", 500, "how often TestKill kills the other side")

// killVariable makes the test binary the victim of TestKill. It holds the victim's
// address, the survivor's, the side that connects, and the number of the round.
const killVariable = "VIADUCT_TCP_VICTIM"

// The side that connects in a round of TestKill.
const (
	survivorConnects = 1 << iota
	victimConnects
)

// churnSizes are the messages that both sides of TestKill exchange, by tag:
// nothing, small, the largest eager and the smallest rendezvous, large.
var churnSizes = []int{0, 8, 4 << 10, 16 << 10, 16<<10 + 1, 256 << 10, 1 << 20}

// churnDepth is how many sends, and receives, of each tag are posted at a time.
const churnDepth = 2

// A churn keeps messages of all sizes going both ways on one connection.
type churn struct {
	ctx     *bmi.Context
	peer    bmi.Addr
	pending int
	posts   int
	failed  bool // an operation failed: nothing more is posted
}

// A churnOp is an operation of a churn.
type churnOp struct {
	c    *churn
	tag  bmi.Tag
	buf  []byte
	recv bool
	done bool
}

func (c *churn) post(o *churnOp) error {
	var p bmi.Posted
	var err error
	if o.c, o.done = c, false; o.recv {
		p, err = c.ctx.PostRecv(c.peer, o.tag, o.buf, o)
	} else {
		p, err = c.ctx.PostSend(c.peer, o.tag, o.buf, o)
	}
	if err != nil {
		return err
	}
	c.posts++
	c.pending++
	if p.Done {
		return o.completed(nil)
	}
	return nil
}

// completed repeats a receive that got its message and sends one of its kind.
func (o *churnOp) completed(failed error) error {
	if o.done {
		return fmt.Errorf("operation with tag %d completed twice", o.tag)
	}
	o.done = true
	o.c.pending--
	o.c.failed = o.c.failed || failed != nil
	if o.c.failed || !o.recv {
		return nil
	}
	if err := o.c.post(&churnOp{tag: o.tag, buf: o.buf[:len(o.buf):len(o.buf)]}); err != nil {
		return err
	}
	return o.c.post(&churnOp{tag: o.tag, buf: make([]byte, len(o.buf)), recv: true})
}

// start posts the first receives and sends.
func (c *churn) start() error {
	for _, recv := range []bool{true, false} {
		for tag, size := range churnSizes {
			for range churnDepth {
				if err := c.post(&churnOp{tag: bmi.Tag(tag), buf: make([]byte, size), recv: recv}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// A churner is an endpoint with its churns.
type churner struct {
	round  int
	ep     *bmi.Endpoint
	ctx    *bmi.Context
	churns []*churn
	out    [64]bmi.Completion
	in     [4]bmi.Unexpected
}

func (r *churner) pending() (n int) {
	for _, c := range r.churns {
		n += c.pending
	}
	return n
}

// posts is how many operations were posted in this round.
func (r *churner) posts() (n int) {
	for _, c := range r.churns {
		n += c.posts
	}
	return n
}

// connect greets a peer and begins a churn with it.
func (r *churner) connect(to bmi.Addr) error {
	if _, err := r.ctx.PostSendUnexpected(to, 0, 0, []byte(strconv.Itoa(r.round)), (*churnOp)(nil)); err != nil {
		return err
	}
	return r.add(to)
}

func (r *churner) add(peer bmi.Addr) error {
	c := &churn{ctx: r.ctx, peer: peer}
	r.churns = append(r.churns, c)
	return c.start()
}

// turn takes completions and, while welcome, begins a churn with every peer that
// greets. failed is the error of a failed operation.
func (r *churner) turn(wait time.Duration, welcome bool) (failed, err error) {
	n, err := r.ep.TestUnexpected(r.in[:], 0)
	if err != nil {
		return nil, err
	}
	for i := range r.in[:n] {
		from, round := r.in[i].From, string(r.in[i].Data)
		r.in[i].Release()
		if welcome && round == strconv.Itoa(r.round) {
			err = r.add(from)
		} else {
			err = r.ep.DropAddr(from) // the process is dead, so its messages are of no use
		}
		if err != nil {
			return nil, err
		}
	}
	if n, err = r.ctx.TestContext(r.out[:], wait); err != nil {
		return nil, err
	}
	for _, done := range r.out[:n] {
		if done.Err != nil {
			failed = done.Err
		}
		if o := done.User.(*churnOp); o != nil {
			err = errors.Join(err, o.completed(done.Err))
		}
	}
	return failed, err
}

func openChurner(listen string) (*churner, error) {
	e, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{listen}, Options: map[string]any{"tcp": tcp.Options{
		HangupTimeout: 200 * time.Millisecond,
	}}})
	if err != nil {
		return nil, err
	}
	ctx, err := e.OpenContext()
	return &churner{ep: e, ctx: ctx}, err
}

// victim is the process that TestKill kills.
func victim(spec string) error {
	var address, survivor string
	var who, round int
	if _, err := fmt.Sscanf(spec, "%s %s %d %d", &address, &survivor, &who, &round); err != nil {
		return err
	}
	r, err := openChurner(address)
	if err != nil {
		return err
	}
	r.round = round
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) // the survivor is gone
	}()
	fmt.Println("ready")
	if who&victimConnects != 0 {
		to, err := r.ep.Lookup(survivor)
		if err != nil {
			return err
		}
		if err := r.connect(to); err != nil {
			return err
		}
	}
	for {
		failed, err := r.turn(5*time.Millisecond, true)
		if err != nil || failed != nil {
			return errors.Join(err, failed)
		}
	}
}

// TestKill kills the other side in the middle of traffic, again and again, whether
// it connected, was connected to, or both. Every operation of the survivor must
// end within a second, nothing may be left, and the next process at the same
// address must be reached.
func TestKill(t *testing.T) {
	rounds := *killRounds
	switch {
	case testing.Short():
		rounds = min(rounds, 15)
	case race.Enabled:
		rounds = min(rounds, 60)
	}
	seed := sim.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 2))
	survivor, victim := freshAddress(), freshAddress()
	r, err := openChurner(survivor)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.ep.Close()) }()
	peer, err := r.ep.Lookup(victim)
	require.NoError(t, err)
	files := openFiles(t)

	var slowest time.Duration
	posts := 0
	unnoticed, began := 0, time.Now()
	for round := range rounds {
		who := 1 + round%3
		kill := startVictim(t, fmt.Sprintf("%s %s %d %d", victim, survivor, who, round))
		r.round, r.churns = round, r.churns[:0]
		if who&survivorConnects != 0 {
			require.NoError(t, r.connect(peer))
		}
		end := time.Now().Add(patience)
		// Often at once, and never late.
		for until := rng.IntN(8) * rng.IntN(40); r.posts() < until; {
			require.True(t, time.Now().Before(end), "round %d of seed %d: nothing moves: %+v", round, seed, r.ep.Stats())
			failed, err := r.turn(time.Millisecond, true)
			require.NoError(t, err)
			require.NoError(t, failed, "round %d of seed %d: nobody was killed yet", round, seed)
		}
		kill()
		killed := time.Now()
		for r.pending() > 0 {
			require.True(t, time.Now().Before(killed.Add(patience)), "round %d of seed %d: %d operations hang: %+v", round, seed, r.pending(), r.ep.Stats())
			_, err := r.turn(10*time.Millisecond, false)
			require.NoError(t, err)
			for _, c := range r.churns {
				// Receives posted after the end wait for the next connection: a
				// failed send ends them.
				if c.failed && c.pending > 0 {
					require.NoError(t, c.post(&churnOp{tag: 99, buf: make([]byte, 8)}))
				}
			}
		}
		took := time.Since(killed)
		slowest = max(slowest, took)
		wallclock.Under(t, took, time.Second, fmt.Sprintf("round %d of seed %d", round, seed))
		posts += r.posts()
		if len(r.churns) == 0 {
			unnoticed++
		}
		for _, c := range r.churns {
			// The victim's messages may fill the connection, so that its end is
			// not noticed until they are received or given up.
			require.NoError(t, r.ep.DropAddr(c.peer))
		}
		peer, err = r.ep.Lookup(victim)
		require.NoError(t, err)
	}
	t.Logf("%d kills in %v, %d operations, slowest end of all operations %v after the kill; in %d rounds the victim was not heard of",
		rounds, time.Since(began).Round(time.Millisecond), posts, slowest, unnoticed)
	require.Less(t, unnoticed, rounds/2)
	require.Eventually(t, func() bool {
		_, err := r.turn(0, false)
		return err == nil && r.stats().Peers == 1
	}, patience, time.Millisecond, "only the one that was looked up should still be known")
	require.NoError(t, r.ep.DropAddr(peer))
	s := r.stats()
	require.Zero(t, s.PostedRecvs, "%+v", s)
	require.Zero(t, s.EarlyMessages, "%+v", s)
	require.LessOrEqual(t, openFiles(t), files, "descriptors stay behind")
}

func (r *churner) stats() bmi.MethodStats { return r.ep.Stats().Methods[0] }

// openFiles counts this process's descriptors.
func openFiles(t testing.TB) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(files)
}

func startVictim(t *testing.T, spec string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), killVariable+"="+spec)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // reports the kill
		_ = in.Close()
	}
}
