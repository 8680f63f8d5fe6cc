package spin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A core on which passes take a given time.
type core struct {
	s      Spinner
	now    time.Duration
	takes  time.Duration
	passes int
}

func newCore(limit time.Duration) *core {
	c := &core{}
	c.s.SetLimit(limit)
	c.s.pass.yield = func() { c.passes++; c.now += c.takes }
	return c
}

// wait spins until the answer comes after a time, and reports whether it was polled for all the time.
func (c *core) wait(answer time.Duration) bool {
	start := c.now
	budget := c.s.Budget()
	if budget == 0 {
		c.now += answer
		c.s.Slept(answer)
		return false
	}
	for {
		now := c.now
		c.now += time.Microsecond // a burst of polls
		if c.now-start >= answer {
			c.s.Won(now, now-start)
			return true
		}
		if !c.s.Yield(now, now-start) || c.now-start >= budget {
			c.s.Vain(c.now)
			c.s.Slept(max(answer, c.now-start))
			return false
		}
	}
}

func (c *core) waits(n int, answer time.Duration) (polled int) {
	for range n {
		if c.wait(answer) {
			polled++
		}
	}
	return polled
}

// TestQuickWaitsPassNothingOn: as long as answers come quickly, the caller keeps its core.
func TestQuickWaitsPassNothingOn(t *testing.T) {
	c := newCore(400 * time.Microsecond)
	assert.Equal(t, 100, c.waits(100, quick))
	assert.Zero(t, c.passes)
}

// TestCoresArePassedOn: beside processes that give the core back soon, a caller polls, however crowded the machine is.
func TestCoresArePassedOn(t *testing.T) {
	c := newCore(400 * time.Microsecond)
	c.takes = 5 * time.Microsecond
	c.s.preempt.count = func() (int, int64) { return 1, int64(c.passes) } // the kernel counts each as a switch
	assert.Greater(t, c.waits(1000, 30*time.Microsecond), 990)
	assert.True(t, c.s.tight)
	assert.Greater(t, c.passes, 2000)
}

// TestDearPassesStop: beside a process that keeps the core, a caller sleeps instead, and tries again less and less often.
func TestDearPassesStop(t *testing.T) {
	c := newCore(400 * time.Microsecond)
	c.takes = 3 * time.Millisecond
	c.s.preempt.count = func() (int, int64) { return 1, int64(c.now) } // another process wants the core
	c.waits(20000, 30*time.Microsecond)
	assert.Greater(t, c.passes, 3)
	assert.Less(t, c.passes, 20)

	c.takes, c.passes = time.Microsecond, 0 // it has ended
	c.waits(3*bannedMax, 30*time.Microsecond)
	before := c.passes
	assert.Positive(t, before, "it is tried again")
	assert.Greater(t, c.waits(100, 30*time.Microsecond), 95)
	c.takes = 3 * time.Millisecond
	c.waits(1, 30*time.Microsecond)
	assert.Equal(t, bannedMin, c.s.pass.step, "what was learned before is forgotten")
}

// TestLongPassesStop: if others keep the core longer than it takes to look for a message, a caller does without passes, and tries again
// less and less often.
func TestLongPassesStop(t *testing.T) {
	c := newCore(400 * time.Microsecond)
	c.takes = 2 * longMax
	c.s.preempt.count = func() (int, int64) { return 1, int64(c.now) } // another process wants the core
	answers := [2]time.Duration{5 * time.Microsecond, 350 * time.Microsecond}
	for i := range 20000 {
		c.wait(answers[i%2])
	}
	assert.Equal(t, bannedMax, c.s.pass.step)
	before := c.passes
	for i := range bannedMax / 2 {
		c.wait(answers[i%2])
	}
	assert.Less(t, c.passes-before, 10*judgeAfter)

	c.takes = time.Microsecond
	c.waits(2*bannedMax, 5*time.Microsecond)
	before = c.passes
	c.waits(1000, 5*time.Microsecond)
	assert.Greater(t, c.passes-before, 900, "they do help now")
	assert.Zero(t, c.s.pass.step)
}

// TestADearPassEndsTheSpin: the caller looks once more and goes to sleep.
func TestADearPassEndsTheSpin(t *testing.T) {
	c := newCore(400 * time.Millisecond)
	c.takes = dear
	c.now = time.Second
	assert.True(t, c.s.Yield(c.now, 2*quick))
	assert.False(t, c.s.Yield(c.now, 2*quick))
	assert.Equal(t, 1, c.passes)
	assert.False(t, c.s.pass.allowed())
}

// TestPollsAreFewInACrowd: while other processes want the core and give it back, it is offered to them often.
func TestPollsAreFewInACrowd(t *testing.T) {
	c := newCore(400 * time.Microsecond)
	assert.Equal(t, Burst, c.s.Polls())
	c.s.tight = true
	assert.Equal(t, TightBurst, c.s.Polls())
	c.s.pass.banned = 1
	assert.Equal(t, Burst, c.s.Polls(), "they do not give it back")
}

// TestACrowdIsOver: as soon as nobody else has had the core for a few quick waits, a caller polls as usual.
func TestACrowdIsOver(t *testing.T) {
	c := newCore(400 * time.Microsecond)
	c.s.preempt.count = func() (int, int64) { return 1, int64(c.passes) }
	c.takes = 5 * time.Microsecond
	c.waits(100, 30*time.Microsecond)
	assert.Equal(t, TightBurst, c.s.Polls())
	c.s.preempt.count = func() (int, int64) { return 1, 0 }
	c.takes = 0
	c.waits(50, 3*time.Microsecond)
	assert.Equal(t, Burst, c.s.Polls())
}
