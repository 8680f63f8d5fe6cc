package guest

import (
	"fmt"
	"math/bits"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// An op is an operation of the program.
type op struct {
	bmi  *bmi.Op
	id   uint64
	over bool // the method has completed it; the program does not know yet
	bufs [][]byte
	room []byte // memory for a message that is not in the arena
	next *op    // in Engine.unreported or free

	size   int
	status wire.Status
	text   string
}

// Link implements queue.Linked.
func (o *op) Link() **op { return &o.next }

// take handles a record of the program. An error means that the program broke the rules; anything
// that is only impossible ends the operation.
func (e *Engine) take(record []byte) error {
	var h wire.Head
	rest, err := h.Parse(record)
	if err != nil {
		return err
	}
	switch h.Kind {
	case wire.KindSend, wire.KindSendUnexpected, wire.KindRecv:
		return e.post(&h, rest)
	case wire.KindCancel:
		// It may be over: the two records may cross.
		if o := e.find(h.Op); o != nil && !o.over {
			e.method.Cancel(o.bmi)
		}
	case wire.KindPeer:
		return e.meet(&h, rest)
	case wire.KindDrop:
		return e.drop(h.Peer)
	case wire.KindHold:
		e.peers.hold(h.Peer, true)
	case wire.KindGoOn:
		e.peers.hold(h.Peer, false)
	default:
		return fmt.Errorf("%w: %v is for the program", wire.ErrInvalid, h.Kind)
	}
	return nil
}

// slot returns the slot of an operation: the lower half of its id. The upper half distinguishes the
// uses of a slot.
func slot(id uint64) int { return int(uint32(id)) }

// find returns the operation with an id, or nil.
func (e *Engine) find(id uint64) *op {
	if i := slot(id); i < len(e.ops) && e.ops[i] != nil && e.ops[i].id == id {
		return e.ops[i]
	}
	return nil
}

// keep stores an operation in its slot.
func (e *Engine) keep(o *op) error {
	i := slot(o.id)
	switch {
	case i >= OpsMax:
		return fmt.Errorf("%w: operation %#x, want less than %#x in the lower half", wire.ErrInvalid, o.id, OpsMax)
	case i >= len(e.ops):
		e.ops = append(e.ops, make([]*op, i+1-len(e.ops))...)
	case e.ops[i] != nil:
		return fmt.Errorf("%w: operation %#x while %#x is under way", wire.ErrInvalid, o.id, e.ops[i].id)
	}
	e.ops[i] = o
	return nil
}

var opKinds = [...]bmi.Kind{
	wire.KindSend: bmi.KindSend, wire.KindSendUnexpected: bmi.KindSendUnexpected, wire.KindRecv: bmi.KindRecv,
}

// post passes an operation to the method.
func (e *Engine) post(h *wire.Head, rest []byte) error {
	o := e.newOp(h.Op)
	if err := e.buffers(o, h, rest); err != nil {
		return err
	}
	if err := e.keep(o); err != nil {
		return err
	}
	b := o.bmi
	b.Kind, b.Class, b.Tag = opKinds[h.Kind], bmi.Class(h.Class), bmi.Tag(h.Tag)
	b.Bufs, b.Size, b.Private = o.bufs, int(h.Size), nil
	var err error
	if b.Peer, err = e.peers.find(h.Peer); err == nil {
		err = e.fits(b)
	}
	switch {
	case err != nil:
		b.Complete(0, err)
	case b.Kind == bmi.KindRecv:
		e.method.PostRecv(b)
	default:
		e.method.PostSend(b)
	}
	return nil
}

// fits checks an operation against the method's Info, as an endpoint does before it posts one:
// methods rely on that.
func (e *Engine) fits(b *bmi.Op) error {
	switch {
	case len(b.Bufs) > max(e.info.MaxPieces, 1):
		return fmt.Errorf("%w: %d pieces, %s takes %d", bmi.ErrInvalid, len(b.Bufs), e.info.Name, e.info.MaxPieces)
	case b.Kind == bmi.KindSend && b.Size > e.info.MaxExpectedSize:
		return fmt.Errorf("%w: %d bytes, %s takes %d", bmi.ErrTooLarge, b.Size, e.info.Name, e.info.MaxExpectedSize)
	case b.Kind == bmi.KindSendUnexpected && b.Size > e.info.MaxUnexpectedSize:
		return fmt.Errorf("%w: %d bytes unexpected, %s takes %d", bmi.ErrTooLarge, b.Size, e.info.Name, e.info.MaxUnexpectedSize)
	case b.Kind == bmi.KindSendUnexpected && b.Class != 0 && !e.info.Classes:
		return fmt.Errorf("%w: %s has no classes of unexpected messages but 0", bmi.ErrNotSupported, e.info.Name)
	}
	return nil
}

func (e *Engine) newOp(id uint64) *op {
	o := e.free
	if o == nil {
		o = &op{}
		o.bmi = bmi.NewHostOp(func(_ *bmi.Op, size int, err error) { e.over(o, size, err) })
	} else {
		e.free = o.next
	}
	o.id, o.over = id, false
	return o
}

// buffers finds the memory of an operation.
func (e *Engine) buffers(o *op, h *wire.Head, rest []byte) (err error) {
	o.bufs = o.bufs[:0]
	switch {
	case h.Flags == wire.FlagPieces:
		if e.pieces, err = wire.ParsePieces(e.pieces[:0], rest, uint64(len(e.cfg.Arena)), h.Size); err != nil {
			return err
		}
		for _, p := range e.pieces {
			o.bufs = append(o.bufs, e.cfg.Arena[p.Off:p.Off+p.Len:p.Off+p.Len])
		}
		return nil
	case h.Size > InlineMax:
		return fmt.Errorf("%w: %v of %d bytes without pieces, %d is the most", wire.ErrInvalid, h.Kind, h.Size, InlineMax)
	case h.Flags == wire.FlagMessage && h.Kind != wire.KindRecv:
		o.makeRoom(len(rest))
		copy(o.room, rest) // the record's memory will be reused
	case h.Flags == 0 && h.Kind == wire.KindRecv:
		o.makeRoom(int(h.Size))
	default:
		return fmt.Errorf("%w: %v with flags %#x", wire.ErrInvalid, h.Kind, uint8(h.Flags))
	}
	o.bufs = append(o.bufs, o.room)
	return nil
}

// makeRoom makes the room of an operation n bytes long. It allocates a little more, so that similar
// lengths need no new memory.
func (o *op) makeRoom(n int) {
	const least = 64
	if cap(o.room) < n {
		o.room = make([]byte, 1<<bits.Len(uint(max(n, least)-1)))
	}
	o.room = o.room[:n]
}
