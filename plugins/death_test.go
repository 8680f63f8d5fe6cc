package plugins_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// kill ends the process of a plugin by a signal.
func kill(t testing.TB, p *plugins.Plugin, signal syscall.Signal) {
	t.Helper()
	require.NoError(t, syscall.Kill(p.PID(), signal))
	if signal != syscall.SIGSTOP {
		return
	}
	eventually(t, "each thread of the process has stopped", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.PID()))
		require.NoError(t, err)
		return len(threads) > 0 && !slices.ContainsFunc(threads, func(thread string) bool {
			stat, _ := os.ReadFile(thread) // it may have ended
			_, rest, _ := strings.Cut(string(stat), ") ")
			return rest != "" && !strings.HasPrefix(rest, "T")
		})
	})
}

// eventually waits until is returns true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, patience, 2*time.Millisecond, what)
}

// posted posts receives for which no message comes, and sends that are not received.
func (n *node) posted(to bmi.Addr, tag bmi.Tag) []bmi.Posted {
	n.t.Helper()
	var all []bmi.Posted
	for i := range 10 {
		r, err := n.ctx.PostRecv(to, tag+bmi.Tag(i), make([]byte, 100), nil)
		require.NoError(n.t, err)
		l, err := n.ctx.PostRecv(to, tag+bmi.Tag(i), make([]byte, 1<<20), nil)
		require.NoError(n.t, err)
		s, err := n.ctx.PostSend(to, tag+100+bmi.Tag(i), make([]byte, 1<<20), nil)
		require.NoError(n.t, err)
		all = append(all, r, l, s)
	}
	return all
}

// requireDied waits for operations, each of which must end once with an error that contains text.
func (n *node) requireDied(ops []bmi.Posted, text string) {
	n.t.Helper()
	for _, op := range ops {
		c := n.wait(op, nil)
		require.ErrorIs(n.t, c.Err, plugins.ErrDied)
		require.ErrorIs(n.t, c.Err, bmi.ErrPeerFailed)
		require.ErrorContains(n.t, c.Err, text)
	}
	var more [1]bmi.Completion
	got, err := n.ctx.TestContext(more[:], 0)
	require.NoError(n.t, err)
	require.Zero(n.t, got, "an operation ended twice")
}

// TestKilled: all operations in progress end once, with an error that says why. Operations posted
// meanwhile and later go through the next process, and addresses stay valid.
func TestKilled(t *testing.T) {
	for _, noRings := range []bool{false, true} {
		t.Run(map[bool]string{false: "rings", true: "stream"}[noRings], func(t *testing.T) {
			o := options("mem")
			o.NoRings = noRings
			o.Backoff = time.Millisecond
			plugins.Patient(&o, patience)
			p := load(t, o)
			a, b := open(t, far), open(t, far)
			talk(t, a, b, 100)
			toB := a.to(b)
			for round := range 3 {
				ops := a.posted(toB, 1000)
				first := p.PID()
				kill(t, p, syscall.SIGKILL)
				a.requireDied(ops, "plugins: plugin test ended: signal: killed")
				sent := a.wait(a.ctx.PostSend(toB, 1, []byte("after"), nil))
				require.NotErrorIs(t, sent.Err, plugins.ErrDied)
				if sent.Err != nil { // b may have been opened again later than a
					require.ErrorIs(t, sent.Err, bmi.ErrUnreachable)
				}
				eventually(t, "the plugin runs", func() bool { return p.State() == plugins.Running })
				assert.NotEqual(t, first, p.PID())
				assert.Equal(t, round+1, p.Restarts())
				require.True(t, toB == a.to(b))
				eventually(t, "b is there again", func() bool { return a.CheckAddr(toB) == nil })
				talk(t, a, b, 100)
				talk(t, a, b, 1<<20)
			}
		})
	}
}

// hang is a short HangTimeout. It is long enough that a live process on a busy machine still
// answers in time.
const hang = 5 * time.Second

// TestHang: a process that hangs is killed if an operation waits for it.
func TestHang(t *testing.T) {
	o, far := apart(t, "mem")
	o.HangTimeout = hang
	p := load(t, o)
	a, b := open(t, far), open(t, far)
	talk(t, a, b, 100)
	ops := a.posted(a.to(b), 1)
	kill(t, p, syscall.SIGSTOP)
	a.requireDied(ops, fmt.Sprintf("plugins: plugin %s was killed because it hung: it gave no sign of life within %v", o.Name, hang))
	talkAgain(t, a, b)
	assert.Equal(t, 1, p.Restarts())
}

// TestHangUnasked: it is also killed if other processes may send to it, and nothing here calls it.
func TestHangUnasked(t *testing.T) {
	o, far := apart(t, "mem")
	o.HangTimeout = hang
	p := load(t, o)
	a, b := open(t, far), open(t, far)
	kill(t, p, syscall.SIGSTOP)
	eventually(t, "the plugin is started again", func() bool { return p.Restarts() == 1 })
	talkAgain(t, a, b)
}

// TestHangOfAnIdleEndpoint: a plugin that hangs is killed even if no endpoint makes calls, because
// an endpoint may wait for a message.
func TestHangOfAnIdleEndpoint(t *testing.T) {
	o, far := apart(t, "mem")
	o.HangTimeout = hang
	p := load(t, o)
	ep, err := bmi.Open(t.Context(), bmi.Config{Methods: []string{far}})
	require.NoError(t, err)
	defer func() { require.NoError(t, ep.Close()) }()
	kill(t, p, syscall.SIGSTOP)
	eventually(t, "the plugin is started again", func() bool { return p.Restarts() == 1 })
}

// TestCloseOfOneThatHangs: an endpoint closes soon after its time is over, even if the plugin does
// not answer.
func TestCloseOfOneThatHangs(t *testing.T) {
	t.Parallel()
	for _, noRings := range []bool{false, true} {
		t.Run(map[bool]string{false: "rings", true: "stream"}[noRings], func(t *testing.T) {
			o, far := apart(t, "mem")
			o.HangTimeout, o.NoRings = time.Minute, noRings
			p := load(t, o)
			ep, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{fresh(far)}})
			require.NoError(t, err)
			kill(t, p, syscall.SIGSTOP)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			start := time.Now()
			err = ep.Shutdown(ctx)
			took := time.Since(start)
			require.ErrorContains(t, err, "plugin "+o.Name+" was killed because it")
			wallclock.Under(t, took, 5*time.Second, "half a second, and one more,")
		})
	}
}

// TestHangOfAQuestion: a call does not wait for ever.
func TestHangOfAQuestion(t *testing.T) {
	o, far := apart(t, "mem")
	o.HangTimeout = hang
	p := load(t, o)
	a, b := open(t, far), open(t, far)
	kill(t, p, syscall.SIGSTOP)
	_, err := a.Lookup(far + "://x")
	require.ErrorIs(t, err, plugins.ErrDied)
	require.ErrorContains(t, err, "plugin "+o.Name+" was killed because it hung: ") // the call, or an earlier ping
	talkAgain(t, a, b)
}

// talkAgain talks through the next process, once it has both endpoints.
func talkAgain(t testing.TB, a, b *node) {
	t.Helper()
	eventually(t, "both endpoints are there again", func() bool {
		x, err := a.Lookup(b.Addresses()[0])
		y, err2 := b.Lookup(a.Addresses()[0])
		return err == nil && err2 == nil && a.CheckAddr(x) == nil && b.CheckAddr(y) == nil
	})
	talk(t, a, b, 100)
}

// TestStaysDead: a plugin that dies too often is not restarted, and its errors say so.
func TestStaysDead(t *testing.T) {
	o := options("mem")
	o.Backoff, o.RestartLimit = time.Millisecond, 2
	p := load(t, o)
	a, b := open(t, far), open(t, far)
	toB := a.to(b)
	for range o.RestartLimit {
		was := p.PID()
		kill(t, p, syscall.SIGKILL)
		eventually(t, "another process", func() bool { return p.State() == plugins.Running && p.PID() != was })
	}
	kill(t, p, syscall.SIGKILL)
	eventually(t, "the plugin stays dead", func() bool { return p.State() == plugins.Dead })
	const text = "it was restarted 2 times within 1m0s and stays dead until it is unloaded and loaded again"
	require.ErrorContains(t, p.Err(), text)
	soonest := time.Hour // the shortest of a few waits: each takes up to a second
	for range 5 {
		start := time.Now()
		c := a.wait(a.ctx.PostSend(toB, 1, []byte("x"), nil))
		require.ErrorIs(t, c.Err, plugins.ErrDied)
		require.ErrorContains(t, c.Err, text)
		_, err := bmi.Open(t.Context(), bmi.Config{Methods: []string{far}})
		require.ErrorContains(t, err, text)
		soonest = min(soonest, time.Since(start))
	}
	wallclock.Under(t, soonest, time.Second, "what nothing waits for")
}

// TestNeverRestarted: with RestartLimit < 0 a plugin is never restarted.
func TestNeverRestarted(t *testing.T) {
	o := options("mem")
	o.RestartLimit = -1
	plugins.Patient(&o, patience)
	p := load(t, o)
	a, b := open(t, far), open(t, far)
	ops := a.posted(a.to(b), 1)
	kill(t, p, syscall.SIGKILL)
	a.requireDied(ops, "signal: killed")
	eventually(t, "the plugin stays dead", func() bool { return p.State() == plugins.Dead })
	c := a.wait(a.ctx.PostSend(a.to(b), 1, []byte("x"), nil))
	require.ErrorContains(t, c.Err, "plugin test ended: signal: killed; it is never restarted (Options.RestartLimit)")
}

// TestWaitsOnlySoLong: an operation that is posted while there is no process waits for one, but not
// for long.
func TestWaitsOnlySoLong(t *testing.T) {
	o, far := apart(t, "mem")
	o.Backoff, o.BackoffMax = time.Hour, time.Hour
	p := load(t, o)
	a, b := open(t, far), open(t, far)
	toB := a.to(b)
	kill(t, p, syscall.SIGKILL)
	eventually(t, "the plugin is dead", func() bool { return p.State() == plugins.Restarting })
	start := time.Now()
	c := a.wait(a.ctx.PostSend(toB, 1, []byte("x"), nil))
	require.ErrorIs(t, c.Err, plugins.ErrDied)
	took := time.Since(start)
	assert.Greater(t, took, 700*time.Millisecond)
	wallclock.Under(t, took, 5*time.Second, "the end")
}

// TestUnloadInUse: endpoints that have a method of the plugin open lose it.
func TestUnloadInUse(t *testing.T) {
	p := load(t, options("mem"))
	a, b := open(t, far), open(t, far)
	talk(t, a, b, 100)
	toB := a.to(b)
	ops := a.posted(toB, 1)
	require.NoError(t, p.Unload(context.Background()))
	require.Equal(t, plugins.Unloaded, p.State())
	require.False(t, slices.Contains(plugins.Loaded(), p))
	for _, op := range append(ops, bmi.Posted{}) {
		var c bmi.Completion
		if op.Op == 0 {
			c = a.wait(a.ctx.PostSend(toB, 1, []byte("x"), nil))
		} else {
			c = a.wait(op, nil)
		}
		require.ErrorIs(t, c.Err, plugins.ErrUnloaded)
		require.ErrorIs(t, c.Err, bmi.ErrPeerFailed)
		require.EqualError(t, c.Err, "plugins: plugin test was unloaded, load it again and open another endpoint")
	}
	_, err := bmi.Open(t.Context(), bmi.Config{Methods: []string{far}})
	require.ErrorIs(t, err, bmi.ErrUnknownMethod)
	require.NoError(t, p.Unload(context.Background()), "twice")
	require.ErrorIs(t, syscall.Kill(p.PID(), 0), syscall.ESRCH, "the process is there still")
}
