//go:build linux

package stream

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// A program translates between the program's rings and the stream. It knows which operations are in
// the plugin, and where in the arena their messages lie.
type program struct {
	arena     []byte
	recordMax int // largest record in the ring to the program

	mu  sync.Mutex
	ops map[uint64]said
}

// said is an operation that was sent to the plugin.
type said struct {
	recv   bool
	size   uint64
	pieces []wire.Piece // of a receive; without pieces the message goes into the ring
}

func newProgram(arena []byte, recordMax int) *program {
	return &program{arena: arena, recordMax: recordMax, ops: make(map[uint64]said)}
}

// toPlugin translates a record of the ring for the plugin; nil means that nothing is sent.
func (p *program) toPlugin(record []byte) (*proto.Record, error) {
	var h wire.Head
	rest, err := h.Parse(record)
	if err != nil {
		return nil, err
	}
	r := &proto.Record{Kind: proto.Kind(h.Kind)}
	switch h.Kind {
	case wire.KindSend, wire.KindSendUnexpected, wire.KindRecv:
		r.Op, r.Peer, r.Tag, r.Class, r.Size = h.Op, h.Peer, h.Tag, uint32(h.Class), h.Size
		return r, p.post(r, &h, rest)
	case wire.KindCancel:
		if !p.has(h.Op) { // it is over: the two records crossed
			return nil, nil
		}
		r.Op = h.Op
	case wire.KindPeer:
		r.Peer, r.Text = h.Peer, valid(string(rest))
	case wire.KindDrop, wire.KindHold, wire.KindGoOn:
		r.Peer = h.Peer
	default:
		return nil, fmt.Errorf("%w: %v is for the program", wire.ErrInvalid, h.Kind)
	}
	return r, nil
}

// post records an operation. The message is copied before that: afterwards the operation may end at
// any time, and its memory may be reused.
func (p *program) post(r *proto.Record, h *wire.Head, rest []byte) error {
	op := said{recv: h.Kind == wire.KindRecv, size: h.Size}
	switch {
	case h.Flags == wire.FlagPieces:
		pieces, err := wire.ParsePieces(nil, rest, uint64(len(p.arena)), h.Size)
		if err != nil {
			return err
		}
		if op.recv {
			op.pieces = pieces
		} else {
			r.Message = p.gather(pieces, h.Size)
		}
	case h.Flags == wire.FlagMessage && !op.recv:
		r.Message = append([]byte(nil), rest...)
	case h.Flags != 0 || !op.recv:
		return fmt.Errorf("%w: %v with flags %#x", wire.ErrInvalid, h.Kind, uint8(h.Flags))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.ops[h.Op]; ok {
		return fmt.Errorf("%w: operation %#x twice", wire.ErrInvalid, h.Op)
	}
	p.ops[h.Op] = op
	return nil
}

func (p *program) has(op uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.ops[op]
	return ok
}

// gather copies a message out of the arena.
func (p *program) gather(pieces []wire.Piece, size uint64) []byte {
	message := make([]byte, 0, size)
	for _, piece := range pieces {
		message = append(message, p.arena[piece.Off:piece.Off+piece.Len]...)
	}
	return message
}

// fromPlugin translates a record of the plugin for the ring: a Head, and the bytes behind it. The message
// of a receive is put in the arena if it belongs there.
func (p *program) fromPlugin(r *proto.Record) (h wire.Head, rest []byte, err error) {
	switch r.Kind {
	case proto.Kind_DONE:
		return p.over(r)
	case proto.Kind_ARRIVED:
		if err := sized(r, uint64(p.recordMax-wire.HeadBytes)); err != nil {
			return h, nil, err
		}
		if r.Class > math.MaxUint8 {
			return h, nil, fmt.Errorf("%w: class %d", ErrProtocol, r.Class)
		}
		return wire.Head{
			Kind: wire.KindArrived, Flags: wire.FlagMessage, Class: uint8(r.Class), Tag: r.Tag, Peer: r.Peer, Size: uint64(len(r.Message)),
		}, r.Message, nil
	case proto.Kind_STRANGER:
		if r.Peer&strangerBit == 0 || r.Text == "" || len(r.Text) > AddressMax {
			return h, nil, fmt.Errorf("%w: a stranger with the id %#x and an address of %d bytes", ErrProtocol, r.Peer, len(r.Text))
		}
		return wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: r.Peer}, []byte(r.Text), nil
	}
	return h, nil, fmt.Errorf("%w: %v is nothing that a plugin says", ErrProtocol, r.Kind)
}

// over is hear for the end of an operation.
func (p *program) over(r *proto.Record) (h wire.Head, rest []byte, err error) {
	p.mu.Lock()
	op, ok := p.ops[r.Op]
	delete(p.ops, r.Op)
	p.mu.Unlock()
	h = wire.Head{Kind: wire.KindDone, Op: r.Op, Size: r.Size}
	if op.recv && r.Status == proto.Status_OK && r.Size == 0 { // the plugin did not set the size
		h.Size = uint64(len(r.Message))
	}
	switch {
	case !ok:
		return h, nil, fmt.Errorf("%w: the end of operation %#x, which is not under way", ErrProtocol, r.Op)
	case r.Status < 0 || r.Status > proto.Status_OTHER:
		return h, nil, fmt.Errorf("%w: status %d", ErrProtocol, r.Status)
	case r.Size > math.MaxInt64:
		return h, nil, fmt.Errorf("%w: a size of %d", ErrProtocol, r.Size)
	case r.Status != proto.Status_OK:
		h.Flags, h.Status = wire.FlagText, wire.Status(r.Status)
		return h, []byte(r.Text[:min(len(r.Text), wire.TextMax, p.recordMax-wire.HeadBytes)]), nil
	case !op.recv && r.Size != op.size:
		return h, nil, fmt.Errorf("%w: %d bytes sent of %d", ErrProtocol, r.Size, op.size)
	case !op.recv:
		return h, nil, nil
	case h.Size > op.size || uint64(len(r.Message)) != h.Size:
		return h, nil, fmt.Errorf("%w: %d bytes, said to be %d, for a receive of %d", ErrProtocol, len(r.Message), r.Size, op.size)
	case len(op.pieces) == 0 && h.Size > 0:
		h.Flags = wire.FlagMessage
		return h, r.Message, nil
	}
	message := r.Message
	for _, piece := range op.pieces {
		message = message[copy(p.arena[piece.Off:piece.Off+piece.Len], message):]
	}
	return h, nil, nil
}

// sized returns an error unless a message has the size in its record, if that is set, and at most
// most bytes.
func sized(r *proto.Record, most uint64) error {
	if n := uint64(len(r.Message)); r.Size != 0 && r.Size != n || n > most {
		return fmt.Errorf("%w: %v with %d bytes, said to be %d, of at most %d", ErrProtocol, r.Kind, n, r.Size, most)
	}
	return nil
}

// valid returns a text in valid UTF-8, as gRPC needs it.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
