//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/spin"
	"github.com/viaduct-hpc/viaduct/plugins/bell"
)

// SpinMax is how long a Loop polls at most before it sleeps, as an endpoint does: several
// times what a sleep and its wake-up cost.
const SpinMax = 400 * time.Microsecond

// LoopConfig is what a Loop works with.
type LoopConfig struct {
	// Config is the Engine's. Wake is the Loop's own.
	Config
	// Rung is what the program rings. It stays the caller's, who may close it once the
	// Loop is over.
	Rung *bell.Bell
	// SpinMax is how long to poll before sleeping; 0 is the default, < 0 not at all.
	SpinMax time.Duration
	// Clock is the method's. Never nil.
	Clock func() time.Duration
}

// A Loop runs an Engine in a goroutine of its own, which sleeps while there is nothing to
// do; a second one waits for the program's bell. All calls of the method are made by the
// first, those of Do included.
type Loop struct {
	cfg       LoopConfig
	engine    *Engine
	method    bmi.Method
	sleeper   bmi.Sleeper   // nil: the method cannot be slept on
	deadliner bmi.Deadliner // nil: the method has no deadlines

	// soon: something is new since the latest Turn began; asleep: nobody looks at soon,
	// and whoever sets it has to rouse. A Loop that sets asleep looks at soon afterwards.
	soon, asleep atomic.Bool

	// The Loop's own.
	spinner spin.Spinner
	timer   *time.Timer
	next    time.Duration // how long the next pause is
	refused int           // how often in a row the method would not be slept on
	turns   uint64
	procs   int32           // that run goroutines at once
	ending  context.Context // set: the method is to be closed
	err     error           // why the Loop ended; read by others once done is closed

	tasks tasks
	// rousing guards closed, after which the method's Wake is not called any more.
	rousing  sync.Mutex
	closed   bool
	kick     chan struct{} // holds at most one; ends a pause
	quit     atomic.Bool   // ends listen
	listened chan struct{} // listen is over
	done     chan struct{}
	counters loopCounters
}

// LoopStats count. They only grow.
type LoopStats struct {
	Turns     uint64 // of the Engine, until it slept last
	Sleeps    uint64 // times the Loop slept on the method
	Pauses    uint64 // times it waited a little, as it could not sleep on the method
	SpinsWon  uint64 // waits that ended while the Loop was still polling
	SpinsLost uint64 // waits that polled in vain and then slept
}

type loopCounters struct{ turns, sleeps, pauses, spinsWon, spinsLost atomic.Uint64 }

// NewLoop makes a Loop. Its Host is what the method is to be opened with; Start comes
// before all else.
func NewLoop(cfg LoopConfig) *Loop {
	if cfg.SpinMax == 0 {
		cfg.SpinMax = SpinMax
	}
	l := &Loop{
		cfg: cfg, timer: time.NewTimer(time.Hour), kick: make(chan struct{}, 1),
		listened: make(chan struct{}), done: make(chan struct{}), next: pauseMin,
	}
	l.timer.Stop()
	l.cfg.Wake = l.wake
	l.engine = New(l.cfg.Config)
	return l
}

// Host is the Host of the method.
func (l *Loop) Host() bmi.Host { return l.engine.Host() }

// Start gives the Loop its method and starts it. Whoever starts a Loop calls End.
func (l *Loop) Start(m bmi.Method) {
	l.method = m
	l.sleeper, _ = m.(bmi.Sleeper)
	l.deadliner, _ = m.(bmi.Deadliner)
	l.engine.Start(m)
	l.spinner.Init(l.cfg.SpinMax)
	l.procs = int32(runtime.GOMAXPROCS(0))
	go l.listen()
	go l.run()
}

// Done is closed once the method is closed and the Loop uses nothing any more.
func (l *Loop) Done() <-chan struct{} { return l.done }

// Err tells, after Done, why the Loop ended: ErrProgram, or what came of closing the
// method.
func (l *Loop) Err() error { return l.err }

// Stats counts.
func (l *Loop) Stats() LoopStats {
	c := &l.counters
	return LoopStats{
		Turns: c.turns.Load(), Sleeps: c.sleeps.Load(), Pauses: c.pauses.Load(),
		SpinsWon: c.spinsWon.Load(), SpinsLost: c.spinsLost.Load(),
	}
}

func (l *Loop) run() {
	defer close(l.done)
	for !l.over() {
		if !l.turn() {
			l.wait()
		}
	}
	l.finish()
}

// over reports whether the Loop is to end.
func (l *Loop) over() bool { return l.err != nil || l.ending != nil }

// turn does what there is to do, and reports whether there was anything.
func (l *Loop) turn() (moved bool) {
	if l.soon.Load() {
		l.soon.Store(false)
	}
	if l.tasks.any.Load() {
		l.tasks.run()
		moved = true
	}
	l.turns++
	did, err := l.engine.Turn()
	if err != nil {
		l.fail(err)
	}
	return did || moved || l.over()
}

// fail ends the Loop.
func (l *Loop) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// listen waits for the program's bell.
func (l *Loop) listen() {
	defer close(l.listened)
	for !l.quit.Load() {
		if err := l.cfg.Rung.Wait(-1); err != nil {
			l.submit(&task{fn: func() { l.fail(fmt.Errorf("%w: %w", ErrProgram, err)) }})
			return
		}
		l.wake()
	}
}

// closeTurns bounds what is still taken from the program before its method closes.
const closeTurns = 512

// finish closes the method and ends what the Loop is made of.
func (l *Loop) finish() {
	err, ctx := l.err, l.ending
	if err != nil { // the program is not worth waiting for
		stopped, stop := context.WithCancel(context.Background())
		stop()
		ctx = stopped
	}
	l.tasks.close(err)
	for i := 0; err == nil && i < closeTurns; i++ {
		if moved, failed := l.engine.Turn(); !moved || failed != nil {
			err = failed
			break
		}
	}
	l.rousing.Lock()
	l.closed = true
	l.rousing.Unlock()
	if failed := l.engine.Close(ctx); err == nil {
		err = failed
	}
	if !errors.Is(err, ErrProgram) {
		l.tellRest()
	}
	l.quit.Store(true)
	for heard := false; !heard; {
		l.cfg.Rung.Ring()
		select {
		case <-l.listened:
			heard = true
		case <-time.After(ringAgain): // the program can take a ring away
		}
	}
	l.spinner.Close()
	l.err = err
}

// tellRest tells the program what came of closing the method, as far as it reads that soon.
func (l *Loop) tellRest() {
	until := l.cfg.Clock() + tellWithin
	for {
		l.engine.tellUntold()
		if l.cfg.Out.Asleep() {
			l.cfg.Bell()
		}
		if l.engine.untold.Empty() || l.engine.err != bmi.ErrClosed || l.cfg.Clock() >= until {
			return
		}
		time.Sleep(pauseBusy) // nobody tells that there is room again
	}
}

// tellWithin is how long a program may take to read what a closed method had to say.
const tellWithin = time.Second

// ringAgain is how long listen has to hear the bell.
const ringAgain = 10 * time.Millisecond
