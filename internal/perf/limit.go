package perf

import (
	"fmt"
	"sync/atomic"
	"time"
)

// A duel is a measurement in which two sides execute the same number of steps.
type duel interface {
	// begin prepares both sides for this number of steps in total.
	begin(steps int) error
	// step executes n steps on this side, while the other side executes its own.
	step(n int) error
	// end is called after the last step.
	end() error
}

// measure finds the cost of a step, which also warms up both sides, and then
// times as many steps as the budget allows.
func measure(d duel, budget time.Duration) (samples, error) {
	perStep, err := warmUp(d, budget/warmUpShare)
	if err != nil {
		return nil, err
	}
	p := planFor(budget, perStep)
	if err := d.begin(p.batches * p.steps); err != nil {
		return nil, err
	}
	s, err := timeBatches(p, d.step)
	if err != nil {
		return nil, err
	}
	return s, d.end()
}

// warmUp runs more and more steps until they fill the time. It returns the cost
// of one of the last steps.
func warmUp(d duel, target time.Duration) (time.Duration, error) {
	const growthMax = 64 // a first step may be a hundred times slower than the next
	for steps := 1; ; {
		if err := d.begin(steps); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := d.step(steps); err != nil {
			return 0, err
		}
		took := max(time.Since(start), 1)
		if err := d.end(); err != nil {
			return 0, err
		}
		if took >= target {
			return max(took/time.Duration(steps), 1), nil
		}
		steps *= min(max(int(target/took)+1, 2), growthMax)
	}
}

// Limits measures the bare machine, with a follower process at the far core.
type Limits struct {
	pair  *sharedPair
	child *Child
	cores Cores
	undo  func()
	// socket (TCP) and datagrams (UDP) are nil until they are needed.
	socket, datagrams *socketSide
}

// OpenLimits starts the follower with a command that calls RunFollower, with room
// for messages of up to size bytes. The calling goroutine is bound to the near
// core until Close.
func OpenLimits(command []string, cores Cores, size int) (*Limits, error) {
	pair, err := newSharedPair(size)
	if err != nil {
		return nil, err
	}
	child, err := StartChild("peer of the limit tests", command, pair.file)
	if err != nil {
		_ = pair.close()
		return nil, err
	}
	l := &Limits{pair: pair, child: child, cores: cores, undo: func() {}}
	if cores.Pinned {
		if _, err = child.Ask("pin %d", cores.Far); err == nil {
			l.undo, err = PinThread(cores.Near)
		}
		if err != nil {
			l.undo = func() {}
			_ = l.Close()
			return nil, err
		}
	}
	return l, nil
}

// Close ends the follower.
func (l *Limits) Close() error {
	l.undo()
	for _, side := range []*socketSide{l.socket, l.datagrams} {
		if side != nil {
			side.close()
		}
	}
	err := l.child.Close()
	if e := l.pair.close(); err == nil {
		err = e
	}
	return err
}

// Bounce measures the half round trip of one cache line.
func (l *Limits) Bounce(budget time.Duration) (Result, error) {
	s, err := measure(&limitDuel{l: l}, budget)
	if err != nil {
		return Result{}, err
	}
	return s.result(LimitBounce, MethodBare, 0, 1), nil
}

// Memcpy measures the half round trip of size bytes by one plain copy.
func (l *Limits) Memcpy(size int, budget time.Duration) (Result, error) {
	if size < 1 || size > l.pair.size {
		return Result{}, fmt.Errorf("perf: %s cannot be copied through shared memory made for %s", FormatSize(size), FormatSize(l.pair.size))
	}
	s, err := measure(&limitDuel{l: l, size: size}, budget)
	if err != nil {
		return Result{}, err
	}
	return s.result(LimitMemcpy, MethodBare, size, 1), nil
}

// limitDuel is a bounce that also moves size bytes.
type limitDuel struct {
	l    *Limits
	size int
	turn uint64
}

func (d *limitDuel) begin(steps int) error {
	d.turn = 0
	atomic.StoreUint64(d.l.pair.turn, 0)
	_, err := d.l.child.Ask("follow %d %d", steps, d.size)
	return err
}

func (d *limitDuel) step(n int) error {
	err := d.l.pair.lead(d.turn, n, d.size, &d.l.child.Dead)
	d.turn += 2 * uint64(n)
	return err
}

func (d *limitDuel) end() error { return nil }
