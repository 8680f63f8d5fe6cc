package host

import (
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
)

// state is the state of an operation.
type state uint8

const (
	stateWaiting state = iota // in its lane: not written to the ring yet
	stateWritten              // the plugin has it
)

// place is where the message of an operation travels.
type place uint8

const (
	placeRecord place = iota // in the record itself, or in the one that ends the operation
	placeArena               // in the arena, where the user has it
	placeStaged              // in a copy in the arena
)

// An op is the method's state of an operation, in its Private.
type op struct {
	bmi    *bmi.Op
	peer   *peer
	state  state
	place  place
	size   int    // of the message or the receive buffer, as the plugin knows it
	staged []byte // in placeStaged: the copy in the arena
	lane   *lane
	links  queue.Links[op] // in lane
	due    time.Duration   // in stateWaiting for a plugin: when to give up; 0 means never

	slot, generation uint32 // in Method.ops
}

// id returns the id of the operation for the plugin, which is new for each use of the slot.
func (o *op) id() uint64 { return uint64(o.generation)<<32 | uint64(o.slot) }

// A table holds the operations in progress.
type table struct {
	ops  []*op
	free []uint32 // slots
	live int
}

func (t *table) add(b *bmi.Op, p *peer, l *lane) *op {
	if n := len(t.free); n > 0 {
		o := t.ops[t.free[n-1]]
		t.free = t.free[:n-1]
		o.bmi, o.peer, o.lane, o.state = b, p, l, stateWaiting
		t.live++
		return o
	}
	o := &op{bmi: b, peer: p, lane: l, slot: uint32(len(t.ops)), generation: 1}
	t.ops = append(t.ops, o)
	t.live++
	return o
}

// find returns the operation with an id, or nil.
func (t *table) find(id uint64) *op {
	slot := uint32(id)
	if int(slot) >= len(t.ops) {
		return nil
	}
	if o := t.ops[slot]; o.bmi != nil && o.generation == uint32(id>>32) {
		return o
	}
	return nil
}

func (t *table) remove(o *op) {
	o.bmi, o.peer, o.staged, o.due = nil, nil, nil, 0
	o.generation++
	t.free = append(t.free, o.slot)
	t.live--
}

var recordKinds = [...]wire.Kind{
	bmi.KindSend: wire.KindSend, bmi.KindSendUnexpected: wire.KindSendUnexpected, bmi.KindRecv: wire.KindRecv,
}
