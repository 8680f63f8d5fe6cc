package udp

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/fault"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/reliable"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/timers"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Timer is the connection's place in the wheel.
func (c *conn) Timer() *timers.Timer[conn] { return &c.timer }

// set sets the timer to the next deadline.
func (c *conn) set() {
	d := c.dev
	var at time.Duration
	switch c.state {
	case connDead:
		return
	case connDialing, connAccepted:
		at = min(c.againAt, c.until)
	case connLeaving:
		at = c.until
	case connOpen:
		at = c.probeAt()
		if c.busy {
			at = min(at, c.busyAt+reliable.IdleAfter)
		}
	}
	if c.speaks() {
		for lane := range c.lanes {
			if t, ok := c.lanes[lane].Deadline(); ok {
				at = min(at, t)
			}
		}
	}
	d.wheel.Set(c, at)
}

// probeAt is when the other side has been silent for so long that it is probed.
func (c *conn) probeAt() time.Duration {
	if c.dev.opts.KeepAlive < 0 {
		return never
	}
	if c.unheard > 0 {
		return c.askedAt + askAgain
	}
	return c.heardAt + c.dev.opts.KeepAlive
}

// askWhetherThere probes the other side, which has been silent. A probe, or its
// answer, may get lost, and this side may not have read its socket for long. So it
// probes many times before the other side counts as silent.
func (c *conn) askWhetherThere() error {
	d := c.dev
	if c.unheard == 0 {
		c.doubtAt = d.now
	}
	if c.unheard >= asksMin && d.now >= c.doubtAt+d.opts.GiveUp-d.opts.KeepAlive {
		return fmt.Errorf("udp: %s has said nothing for %v, asked %d times: %w", c.name, d.now-c.heardAt, c.unheard, nic.ErrTimeout)
	}
	if c.unheard >= turnBackAfter {
		c.turnBack(wire.LanePriority)
	}
	c.unheard++
	c.askedAt = d.now
	c.emit(wire.LanePriority, true)
	return nil
}

// rest frees memory once no data has arrived for a while.
func (c *conn) rest() {
	if c.busy && c.dev.now >= c.busyAt+reliable.IdleAfter {
		c.busy = false
		c.queue.Idle()
	}
}

// never is later than any time.
const never = time.Duration(1<<63 - 1)

// expire runs due timers.
func (c *conn) expire() {
	d := c.dev
	switch c.state {
	case connDialing, connAccepted:
		c.expireHandshake()
		return
	case connLeaving:
		if d.now >= c.until {
			c.die()
			return
		}
	case connOpen:
		c.rest()
		if d.now >= c.probeAt() {
			if err := c.askWhetherThere(); err != nil {
				c.fail(err)
				return
			}
		}
	}
	for lane := range c.lanes {
		l := &c.lanes[lane]
		unanswered := l.Unanswered()
		if err := l.Expire(d.now); err != nil {
			c.fail(c.silent(lane, err))
			return
		}
		if n := l.Unanswered(); n > unanswered {
			d.timedOut(c.name)
			if n >= turnBackAfter {
				c.seek(uint8(lane))
			}
		}
	}
	c.lookForHole()
	c.mark()
	c.set()
}

// silent is the error of a lane without answers. If the other lane gets answers, a
// firewall probably lets only one of the two ports through.
func (c *conn) silent(lane int, err error) error {
	which := ""
	if lane == wire.LaneData && c.dev.now-c.heardAt < c.dev.opts.GiveUp/2 {
		which = fmt.Sprintf(" answers, but not at its second UDP port, %d, which a firewall must let in, too", c.remote[lane].Port())
	}
	return fmt.Errorf("udp: %s%s: %w: %w", c.name, which, err, nic.ErrTimeout)
}

// expireHandshake repeats an unanswered packet, or gives up.
func (c *conn) expireHandshake() {
	d := c.dev
	switch {
	case c.state == connDialing && !c.answered && len(c.addrs) > 0 && d.now >= c.since+absentAfter:
		c.fail(fault.Markf(nic.ErrUnreachable, "no answer in %v", (d.now - c.since).Round(time.Millisecond)))
	case d.now >= c.until:
		c.fail(fmt.Errorf("udp: %s: %w", c.name, nic.ErrTimeout))
	case d.now < c.againAt:
		c.set()
	case c.state == connDialing:
		c.ask()
	default:
		c.answer()
	}
}
