package guest

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// over handles the completion of an operation by the method.
func (e *Engine) over(o *op, size int, err error) {
	o.over = true
	o.size, o.status, o.text = max(size, 0), wire.StatusOf(err), ""
	if err != nil {
		if o.status != wire.StatusTruncated {
			o.size = min(o.size, o.bmi.Size)
		}
		if o.text = err.Error(); len(o.text) > wire.TextMax {
			o.text = o.text[:wire.TextMax]
		}
	}
	if e.unreported.Empty() && e.tellOver(o) {
		e.forget(o)
	} else {
		e.unreported.Push(o)
	}
}

// tellOver reports the completion of an operation to the program. It returns false if there is no
// room in the ring.
func (e *Engine) tellOver(o *op) bool {
	h := wire.Head{Kind: wire.KindDone, Status: o.status, Op: o.id, Size: uint64(o.size)}
	var message []byte
	switch {
	case o.status != wire.StatusOK:
		h.Flags = wire.FlagText
	case o.bmi.Kind == bmi.KindRecv && len(o.room) > 0:
		message = o.room[:min(o.size, len(o.room))]
		h.Flags, h.Size = wire.FlagMessage, uint64(len(message))
	}
	return e.writeRecord(&h, message, o.text)
}

// forget frees an operation that the program knows to be over.
func (e *Engine) forget(o *op) {
	e.ops[slot(o.id)] = nil
	clear(o.bufs)
	o.bmi.Bufs, o.bmi.Peer, o.bmi.Private = nil, nil, nil
	o.room, o.text = o.room[:0], ""
	o.next, e.free = e.free, o
}

// tellUntold reports the completions for which the ring had no room before.
func (e *Engine) tellUntold() (did bool) {
	for !e.unreported.Empty() && e.tellOver(e.unreported.Head()) {
		e.forget(e.unreported.Pop())
		did = true
	}
	return did
}

// arrived passes an unexpected message to the program.
func (e *Engine) arrived(from bmi.Addr, class bmi.Class, tag bmi.Tag, data []byte) bool {
	if e.err != nil {
		return false
	}
	if len(data) > e.MaxUnexpected() || len(from.String()) > wire.AddressMax {
		e.lost++ // refusing it would hold its sender back for ever
		return true
	}
	peer, ok := e.introduce(from)
	return ok && !e.peers.held[peer] && e.writeRecord(&wire.Head{
		Kind: wire.KindArrived, Flags: wire.FlagMessage, Class: uint8(class), Tag: uint32(tag), Peer: peer, Size: uint64(len(data)),
	}, data, "")
}

// writeRecord writes a record: a Head, with a message or a text behind it. It returns false if there is no
// room, or never will be.
func (e *Engine) writeRecord(h *wire.Head, message []byte, text string) bool {
	room, ok, err := e.cfg.Out.Reserve(wire.HeadBytes + len(message) + len(text))
	if err != nil {
		_ = e.fail(err)
	}
	if !ok || err != nil {
		e.full = true
		return false
	}
	h.Put(room)
	copy(room[wire.HeadBytes:], message)
	copy(room[wire.HeadBytes+len(message):], text)
	e.cfg.Out.Commit()
	return true
}
