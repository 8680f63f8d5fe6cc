//go:build linux

package stream

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/plugins/guest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// A plugin translates between the stream and the rings of an engine. It manages the arena, and
// knows which operations are in the engine.
type plugin struct {
	over *ending

	mu        sync.Mutex
	out       outlet // to the engine
	inlineMax uint64 // the longest message that fits in both rings, in bytes
	ops       map[uint64]*asked
	sends     lane
	recvs     lane
	waiting   int             // bytes of the waiting operations in both lanes and in ended
	fewer     chan struct{}   // has a value when waiting has become less
	ended     []*proto.Record // ends of operations that never reached the engine
	shut      bool            // rings and arena belong to the caller again
}

// asked is an operation of the program.
type asked struct {
	head    wire.Head
	message []byte // of a waiting send
	mem     []byte // in the arena; may be nil
	waits   bool
}

func (a *asked) recv() bool { return a.head.Kind == wire.KindRecv }

// newPlugin makes a plugin; inlineMax is the largest message that fits in the ring from the engine.
func newPlugin(arena []byte, out outlet, inlineMax int) (*plugin, error) {
	p := &plugin{out: out, over: out.over, ops: make(map[uint64]*asked), fewer: make(chan struct{}, 1)}
	inlineMax = min(inlineMax, out.w.RecordMax()-wire.HeadBytes, guest.InlineMax)
	p.inlineMax = uint64(inlineMax)
	half := len(arena) / 2
	return p, errors.Join(p.sends.init(arena, 0, half), p.recvs.init(arena, half, len(arena)))
}

// take handles a record of the program. It waits while the engine's ring is full.
func (p *plugin) take(r *proto.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return errFinished
	}
	h := wire.Head{Kind: wire.Kind(r.Kind), Op: r.Op, Peer: r.Peer}
	switch r.Kind {
	case proto.Kind_SEND, proto.Kind_SEND_UNEXPECTED, proto.Kind_RECV:
		return p.postLocked(r)
	case proto.Kind_CANCEL:
		return p.cancelLocked(r.Op)
	case proto.Kind_PEER:
		if r.Peer&strangerBit != 0 || len(r.Text) > AddressMax {
			return fmt.Errorf("%w: a peer with the id %#x and an address of %d bytes", ErrProtocol, r.Peer, len(r.Text))
		}
		h.Flags = wire.FlagText
		return p.out.put(&h, []byte(r.Text))
	case proto.Kind_DROP:
		if err := p.endOfLocked(r.Peer); err != nil {
			return err
		}
		return p.out.put(&h, nil)
	case proto.Kind_HOLD, proto.Kind_GO_ON:
		return p.out.put(&h, nil)
	}
	return fmt.Errorf("%w: %v is nothing that a program says", ErrProtocol, r.Kind)
}

// postLocked posts an operation, or queues it if there is no memory for it.
func (p *plugin) postLocked(r *proto.Record) error {
	a := &asked{message: r.Message, head: wire.Head{
		Kind: wire.Kind(r.Kind), Class: uint8(r.Class), Tag: r.Tag, Op: r.Op, Peer: r.Peer, Size: uint64(len(r.Message)),
	}}
	var err error
	if a.recv() {
		a.head.Size, a.message = r.Size, nil
	} else {
		err = sized(r, math.MaxInt64)
	}
	switch {
	case err != nil:
		return err
	case r.Class > math.MaxUint8 || r.Size > math.MaxInt64:
		return fmt.Errorf("%w: %v of class %d and size %d", ErrProtocol, r.Kind, r.Class, r.Size)
	case p.ops[r.Op] != nil:
		return fmt.Errorf("%w: operation %#x twice", ErrProtocol, r.Op)
	case len(p.ops) >= guest.OpsMax:
		return fmt.Errorf("%w: %d operations at once", ErrProtocol, guest.OpsMax)
	}
	p.ops[r.Op] = a
	l := p.lane(a)
	if a.head.Size > p.inlineMax && a.head.Size > uint64(l.size()) {
		p.endLocked(a, wire.StatusTooLarge, fmt.Sprintf("%v: %d bytes, a plugin without shared memory takes %d", wire.StatusTooLarge, a.head.Size, l.size()))
		return nil
	}
	if len(l.queue) > 0 {
		p.waitLocked(a)
		return nil
	}
	ok, err := p.placeLocked(a)
	if !ok {
		p.waitLocked(a)
	}
	return err
}

// placeLocked passes an operation to the engine. ok is false if there is no memory.
func (p *plugin) placeLocked(a *asked) (ok bool, err error) {
	h := a.head
	if h.Size <= p.inlineMax {
		rest := a.message
		if !a.recv() {
			h.Flags = wire.FlagMessage
		}
		a.message = nil
		return true, p.out.put(&h, rest)
	}
	l := p.lane(a)
	mem, ok := l.arena.Alloc(int(h.Size))
	if !ok {
		return false, nil
	}
	a.mem = mem
	copy(mem, a.message)
	a.message = nil
	h.Flags = wire.FlagPieces
	return true, p.out.put(&h, wire.AppendPiece(nil, wire.Piece{Off: uint64(l.offset(mem)), Len: h.Size}))
}

// cancelLocked ends a waiting operation; it tells the engine to cancel any other.
func (p *plugin) cancelLocked(op uint64) error {
	a := p.ops[op]
	switch {
	case a == nil: // it is over: the two records crossed
		return nil
	case a.waits:
		p.unwaitLocked(a)
		p.endLocked(a, wire.StatusCancelled, wire.StatusCancelled.String())
		return p.resumeLocked(p.lane(a)) // there may be memory for the next one
	}
	return p.out.put(&wire.Head{Kind: wire.KindCancel, Op: op}, nil)
}

// endLocked ends an operation that is not in the engine.
func (p *plugin) endLocked(a *asked, s wire.Status, text string) {
	delete(p.ops, a.head.Op)
	p.ended = append(p.ended, &proto.Record{Kind: proto.Kind_DONE, Op: a.head.Op, Status: proto.Status(s), Text: text})
	p.waiting += waitingBytes
	p.over.ring()
}

// takeEnded returns the records of operations that ended without the engine.
func (p *plugin) takeEnded() []*proto.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.ended
	p.ended = nil
	p.lessLocked(waitingBytes * len(ended))
	return ended
}

// answer translates a record of the engine for the program. If a is not nil, call release
// afterwards.
func (p *plugin) answer(record []byte) (r *proto.Record, a *asked, err error) {
	var h wire.Head
	rest, err := h.Parse(record)
	if err != nil {
		return nil, nil, err
	}
	r = &proto.Record{Kind: proto.Kind(h.Kind), Op: h.Op, Peer: h.Peer, Size: h.Size}
	switch h.Kind {
	case wire.KindDone:
		a, err = p.overOf(r, &h, rest)
		return r, a, err
	case wire.KindArrived:
		r.Class, r.Tag, r.Message = uint32(h.Class), h.Tag, append([]byte(nil), rest...)
	case wire.KindStranger:
		r.Text = valid(string(rest))
	default:
		return nil, nil, fmt.Errorf("%w: %v is for the plugin", wire.ErrInvalid, h.Kind)
	}
	return r, nil, nil
}

// overOf is answer for the end of an operation.
func (p *plugin) overOf(r *proto.Record, h *wire.Head, rest []byte) (*asked, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.ops[h.Op]
	if a == nil || a.waits {
		return nil, fmt.Errorf("%w: the end of operation %#x, which the engine does not have", wire.ErrInvalid, h.Op)
	}
	delete(p.ops, h.Op)
	switch {
	case h.Status != wire.StatusOK:
		r.Status, r.Text = proto.Status(h.Status), valid(string(rest))
	case !a.recv():
	case h.Size > a.head.Size:
		return nil, fmt.Errorf("%w: %d bytes of a receive of %d", wire.ErrInvalid, h.Size, a.head.Size)
	case a.mem != nil:
		r.Message = a.mem[:h.Size] // valid until release
	default:
		r.Message = append([]byte(nil), rest...)
	}
	return a, nil
}
