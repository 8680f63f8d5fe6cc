package guest

import (
	"context"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/plugins/ring"
	"github.com/viaduct-hpc/viaduct/plugins/wire"
)

// Config is what an Engine works with.
type Config struct {
	// In is what the program says, Out what it is told.
	In  *ring.Reader
	Out *ring.Writer
	// Arena is the memory for messages that both processes see.
	Arena []byte
	// Bell wakes the program, which sleeps. Turn calls it.
	Bell func()
	// Wake makes the caller of Turn, who may sleep, call it soon. Any goroutine may
	// call it, as with bmi.Host.Wake.
	Wake func()
}

// Limits of an Engine.
const (
	// recordsPerTurn bounds the records of the program that one Turn takes.
	recordsPerTurn = 64
	// OpsMax bounds the operations of a program that are not over: the lower half of
	// an operation's id is less.
	OpsMax = 1 << 20
	// PeersMax bounds the remote endpoints that a program and its plugin have names for.
	PeersMax = 1 << 20
	// InlineMax is the longest message of an operation without pieces, in bytes.
	InlineMax = 8 << 10
	// recordMin is the shortest limit of records that an Engine works with.
	recordMin = wire.HeadBytes + InlineMax
)

// ErrProgram: the program broke the rules.
var ErrProgram = errors.New("plugins: the program broke the rules of the rings")

// An Engine runs a method for a program.
type Engine struct {
	cfg    Config
	method bmi.Method
	info   bmi.Info
	err    error

	ops     []*op               // the program was not told that they are over; by slot
	free    *op                 // linked by next, the latest first
	untold  queue.FIFO[op, *op] // over, but the program could not be told: no room
	full    bool                // the latest Turn had something to say that there was no room for
	peers   peers
	pieces  []wire.Piece
	dropper bmi.Dropper
	lost    uint64
}

// New makes an Engine. Its Host is what the method is to be opened with; Start comes
// before all else. Rings that are too short for it are an error of the first Turn.
func New(cfg Config) *Engine {
	e := &Engine{cfg: cfg}
	if most := cfg.Out.RecordMax(); most < recordMin {
		_ = e.fail(fmt.Errorf("a ring with records of %d bytes at most, %d is the least", most, recordMin))
	}
	e.peers.init()
	return e
}

// Start gives the Engine its method.
func (e *Engine) Start(m bmi.Method) {
	e.method, e.info = m, m.Info()
	e.dropper, _ = m.(bmi.Dropper)
}

// MaxUnexpected is the longest unexpected message that the program can be told of, in
// bytes. A method whose Info allows for longer ones loses them (Lost).
func (e *Engine) MaxUnexpected() int { return e.cfg.Out.RecordMax() - wire.HeadBytes }

// Lost is how many unexpected messages were too long for the rings, or came from an
// address that is.
func (e *Engine) Lost() uint64 { return e.lost }

// Host is the Host of the method.
func (e *Engine) Host() bmi.Host { return (*host)(e) }

// Turn takes what the program says, lets the method make progress and tells the program
// what came of it. It reports whether anything happened. An error is the end.
func (e *Engine) Turn() (moved bool, err error) {
	if e.err != nil {
		return false, e.err
	}
	e.full = false
	moved = e.tellUntold()
	for range recordsPerTurn {
		record, ok, err := e.cfg.In.Next()
		if err != nil {
			return moved, e.fail(err)
		}
		if !ok {
			break
		}
		moved = true
		if err := e.take(record); err != nil {
			return moved, e.fail(err)
		}
	}
	moved = e.method.Poll() || moved
	if e.err == nil && e.cfg.Out.Asleep() {
		e.cfg.Bell()
	}
	return moved, e.err
}

// Quiet reports whether the Engine has nothing to say that it could not say in the latest
// Turn. If it has, it needs another Turn soon: nobody tells that there is room again.
func (e *Engine) Quiet() bool { return e.untold.Empty() && !e.full }

// Close ends the method. What is not over is forgotten: the program is gone, or knows.
func (e *Engine) Close(ctx context.Context) error {
	e.err = bmi.ErrClosed
	return e.method.Close(ctx)
}

func (e *Engine) fail(err error) error {
	if e.err == nil {
		e.err = fmt.Errorf("%w: %w", ErrProgram, err)
	}
	return e.err
}

// host is the Engine as its method sees it.
type host Engine

// NewAddr implements bmi.Host.
func (h *host) NewAddr(p bmi.Peer) bmi.Addr { return bmi.NewHostAddr(p) }

// Arrived implements bmi.Host.
func (h *host) Arrived(from bmi.Addr, class bmi.Class, tag bmi.Tag, data []byte) bool {
	return (*Engine)(h).arrived(from, class, tag, data)
}

// Wake implements bmi.Host.
func (h *host) Wake() { h.cfg.Wake() }
