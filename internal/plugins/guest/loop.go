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
	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
	"github.com/viaduct-hpc/viaduct/internal/spin"
)

// SpinMax is how long a Loop polls before it sleeps, at most, as an endpoint does: several times
// the cost of a sleep and its wake-up.
const SpinMax = 400 * time.Microsecond

// LoopConfig configures a Loop.
type LoopConfig struct {
	// Config is the Engine's. The Loop sets Wake.
	Config
	// Rung is the bell that the program rings. It belongs to the caller, which may close it after
	// the Loop has ended.
	Rung *bell.Bell
	// SpinMax is how long to poll before sleeping; 0 means the default, < 0 not at all.
	SpinMax time.Duration
	// Clock is the method's. It must not be nil.
	Clock func() time.Duration
}

// A Loop runs an Engine in a goroutine of its own, which sleeps while there is nothing to do. A
// second goroutine waits for the program's bell. Only the first one calls the method, also for Do.
type Loop struct {
	cfg       LoopConfig
	engine    *Engine
	method    bmi.Method
	sleeper   bmi.Sleeper   // nil if the method does not support sleeping
	deadliner bmi.Deadliner // nil if the method has no deadlines

	// soon: something is new since the latest Turn began. asleep: the Loop is not checking soon, so
	// a goroutine that sets soon must call rouse. After setting asleep, the Loop checks soon once
	// more.
	soon, asleep atomic.Bool

	// Used only by the Loop's goroutine.
	spinner spin.Spinner
	timer   *time.Timer
	next    time.Duration // length of the next pause
	refused int           // how often in a row the method refused to sleep
	turns   uint64
	procs   int32           // GOMAXPROCS
	ending  context.Context // set: the method must be closed
	err     error           // why the Loop ended; other goroutines read it after done is closed

	tasks tasks
	// wakeMu guards closed. When closed is set, the method's Wake must not be called any more.
	wakeMu   sync.Mutex
	closed   bool
	kick     chan struct{} // holds at most one; ends a pause
	quit     atomic.Bool   // ends listen
	listened chan struct{} // closed when listen has ended
	done     chan struct{}
	counters loopCounters
}

// LoopStats are counters.
type LoopStats struct {
	Turns     uint64 `about:"turns of the loop, up to the latest sleep"`
	Sleeps    uint64 `about:"times the loop slept on the method"`
	Pauses    uint64 `about:"short waits because the method refused to sleep"`
	SpinsWon  uint64 `about:"waits that ended while the loop was still polling"`
	SpinsLost uint64 `about:"waits that polled in vain and then slept"`
}

type loopCounters struct{ turns, sleeps, pauses, spinsWon, spinsLost atomic.Uint64 }

// NewLoop makes a Loop. Open the method with its Host, then call Start before anything else.
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

// Host returns the Host for the method.
func (l *Loop) Host() bmi.Host { return l.engine.Host() }

// Start gives the Loop its method and starts it. The caller must call End.
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

// Done is closed when the method is closed and the Loop uses nothing any more.
func (l *Loop) Done() <-chan struct{} { return l.done }

// Err returns, after Done, why the Loop ended: ErrProgram, or the error of closing the method.
func (l *Loop) Err() error { return l.err }

// Stats returns the counters.
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

// over reports whether the Loop must end.
func (l *Loop) over() bool { return l.err != nil || l.ending != nil }

// turn does the work that is there, and reports whether there was any.
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

// closeTurns limits the turns that still read records of the program before its method closes.
const closeTurns = 512

// finish closes the method and frees the Loop's resources.
func (l *Loop) finish() {
	err, ctx := l.err, l.ending
	if err != nil { // do not wait for a program that broke the rules
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
	l.wakeMu.Lock()
	l.closed = true
	l.wakeMu.Unlock()
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
		case <-time.After(ringAgain): // the program may have consumed the ring of the bell
		}
	}
	l.err = err
}

// tellRest writes the results of operations that ended when the method closed, if the program reads
// them soon.
func (l *Loop) tellRest() {
	until := l.cfg.Clock() + tellWithin
	for {
		l.engine.tellUntold()
		if l.cfg.Out.Asleep() {
			l.cfg.Bell()
		}
		if l.engine.unreported.Empty() || l.engine.err != bmi.ErrClosed || l.cfg.Clock() >= until {
			return
		}
		time.Sleep(pauseBusy) // the program rings no bell when there is room again
	}
}

// tellWithin is how long a program may take to read the last records.
const tellWithin = time.Second

// ringAgain is how long listen may take to notice the bell.
const ringAgain = 10 * time.Millisecond
