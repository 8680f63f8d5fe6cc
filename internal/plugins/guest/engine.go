package guest

import (
	"context"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
)

// Config configures an Engine.
type Config struct {
	// In has the records of the program, Out those for it.
	In  *ring.Reader
	Out *ring.Writer
	// Arena is the memory for messages that both processes see.
	Arena []byte
	// Bell wakes the sleeping program. Turn calls it.
	Bell func()
	// Wake makes the caller of Turn, which may be asleep, call it soon. Any goroutine may call it,
	// as with bmi.Host.Wake.
	Wake func()
}

// Limits of an Engine.
const (
	// recordsPerTurn limits the records that one Turn reads.
	recordsPerTurn = 64
	// OpsMax limits a program's operations in progress: the lower half of an operation's id is
	// less.
	OpsMax = 1 << 20
	// PeersMax limits the remote endpoints for which a program and its plugin have ids.
	PeersMax = 1 << 20
	// InlineMax is the longest message of an operation without pieces, in bytes.
	InlineMax = 8 << 10
	// recordMin is the smallest record limit of rings for an Engine.
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

	ops        []*op               // operations that the program does not know to be over; by slot
	free       *op                 // linked by next, the latest first
	unreported queue.FIFO[op, *op] // ended operations whose result has no room in the ring yet
	full       bool                // there was no room for a record of the latest Turn
	peers      peers
	pieces     []wire.Piece
	dropper    bmi.Dropper
	lost       uint64
}

// New makes an Engine. Open the method with its Host, then call Start before anything else. If the
// rings are too small, the first Turn returns an error.
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

// MaxUnexpected returns the size of the longest unexpected message that fits in a record, in bytes.
// Longer ones that the method's Info allows are lost (Lost).
func (e *Engine) MaxUnexpected() int { return e.cfg.Out.RecordMax() - wire.HeadBytes }

// Lost returns how many unexpected messages were lost because they, or the addresses they came
// from, were too long for the rings.
func (e *Engine) Lost() uint64 { return e.lost }

// Host returns the Host for the method.
func (e *Engine) Host() bmi.Host { return (*host)(e) }

// Turn handles the program's records, polls the method and tells the program the results. It
// reports whether anything happened. After an error the Engine has ended.
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

// Quiet reports whether the latest Turn could write all its records. If not, another Turn is needed
// soon: no bell tells when there is room again.
func (e *Engine) Quiet() bool { return e.unreported.Empty() && !e.full }

// Close ends the method. Operations in progress are dropped: the program is gone, or knows.
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

// host is the Engine as a bmi.Host.
type host Engine

// NewAddr implements bmi.Host.
func (h *host) NewAddr(p bmi.Peer) bmi.Addr { return bmi.NewHostAddr(p) }

// Arrived implements bmi.Host.
func (h *host) Arrived(from bmi.Addr, class bmi.Class, tag bmi.Tag, data []byte) bool {
	return (*Engine)(h).arrived(from, class, tag, data)
}

// ArrivedShared implements bmi.Host. The message is copied once, and the program that gets it does not trust the copy.
func (h *host) ArrivedShared(from bmi.Addr, class bmi.Class, tag bmi.Tag, data []byte) bool {
	return h.Arrived(from, class, tag, data)
}

// Wake implements bmi.Host.
func (h *host) Wake() { h.cfg.Wake() }
