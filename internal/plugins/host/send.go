package host

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// writeOp writes an operation to the ring. ok is false if there is no room now, or no plugin; err is
// the reason if there never will be room. The records in control must be written first: the
// operation's peer may use the slot of a peer that one of them drops.
func (m *Method) writeOp(o *op) (ok bool, err error) {
	if m.line == nil || m.rulesBroken || len(m.control) > 0 || !m.introduce(o.peer) {
		return false, nil
	}
	b := o.bmi
	o.size = b.Size
	inArena := m.inArena(b.Bufs)
	if b.Kind == bmi.KindRecv && !inArena {
		// No message is longer, and the plugin may have to allocate the room.
		o.size = min(o.size, m.cfg.Info.MaxExpectedSize)
	}
	h := wire.Head{Kind: recordKinds[b.Kind], Class: uint8(b.Class), Tag: uint32(b.Tag), Op: o.id(), Peer: o.peer.id, Size: uint64(o.size)}
	switch {
	case inArena:
		o.place, h.Flags = placeArena, wire.FlagPieces
		ok = m.write(&h, [][]byte{m.pieces})
	case o.size <= InlineMax && b.Kind == bmi.KindRecv:
		o.place = placeRecord
		ok = m.write(&h, nil)
	case o.size <= InlineMax:
		o.place, h.Flags = placeRecord, wire.FlagMessage
		ok = m.write(&h, b.Bufs)
	default:
		ok, err = m.writeStaged(o, &h)
	}
	if ok {
		o.state = stateWritten
	}
	return ok, err
}

// inArena tells whether a message lies in the arena, and appends its pieces to m.pieces.
func (m *Method) inArena(bufs [][]byte) bool {
	m.pieces = m.pieces[:0]
	for _, b := range bufs {
		if len(b) == 0 {
			continue
		}
		off, ok := m.cfg.Arena.Offset(b)
		if !ok || len(m.pieces) == wire.PiecesMax*wire.PieceBytes {
			return false
		}
		m.pieces = wire.AppendPiece(m.pieces, wire.Piece{Off: uint64(off), Len: uint64(len(b))})
	}
	return len(m.pieces) > 0
}

// writeStaged is writeOp for a message that needs a copy in the arena.
func (m *Method) writeStaged(o *op, h *wire.Head) (ok bool, err error) {
	b := o.bmi
	if o.staged == nil {
		mem, ok := o.lane.alloc(m.cfg.Arena, o.size)
		if !ok {
			if m.lanes[0].staged+m.lanes[1].staged == 0 { // no operation that ends will make room
				err = fmt.Errorf("%w: %d bytes, with %d of the %d bytes in use that are shared with plugin %s, free memory or make the arena larger",
					bmi.ErrTooLarge, o.size, m.cfg.Arena.UsedBytes(), m.cfg.Arena.Size(), m.cfg.Name)
			}
			return false, err
		}
		o.staged = mem
		if b.Kind != bmi.KindRecv {
			for _, piece := range b.Bufs {
				mem = mem[copy(mem, piece):]
			}
			m.copied += uint64(o.size)
		}
	}
	off, _ := m.cfg.Arena.Offset(o.staged)
	m.pieces = wire.AppendPiece(m.pieces[:0], wire.Piece{Off: uint64(off), Len: uint64(o.size)})
	o.place, h.Flags = placeStaged, wire.FlagPieces
	return m.write(h, [][]byte{m.pieces}), nil
}

// order writes a record other than an operation, now or when there is room.
func (m *Method) order(h wire.Head) {
	if m.line == nil || m.rulesBroken {
		return
	}
	if len(m.control) > 0 || !m.write(&h, nil) {
		m.control = append(m.control, h)
		return
	}
	m.ring()
}

// flush writes records for which there was no room before.
func (m *Method) flush() (did bool) {
	for len(m.control) > 0 && !m.rulesBroken && m.write(&m.control[0], nil) {
		m.control = m.control[1:]
		did = true
	}
	for more := true; more && m.Pressing(); did = did || more {
		more = m.sayFirst(&m.lanes[0])
		more = m.sayFirst(&m.lanes[1]) || more
	}
	return did
}

// sayFirst writes the first operation of a lane, and returns whether the operation left the lane.
func (m *Method) sayFirst(l *lane) bool {
	o := l.ops.First()
	if o == nil || l.stuck {
		return false
	}
	ok, err := m.writeOp(o)
	if ok {
		l.remove(o)
	} else if err != nil {
		m.giveUp(o, err)
	}
	return ok || err != nil
}

// write writes a record: a Head, and parts behind it.
func (m *Method) write(h *wire.Head, parts [][]byte) bool {
	n := wire.HeadBytes
	for _, part := range parts {
		n += len(part)
	}
	room, ok, err := m.line.Out.Reserve(n)
	if err != nil {
		m.broken(err)
	}
	if !ok || err != nil {
		return false
	}
	h.Put(room)
	room = room[wire.HeadBytes:]
	for _, part := range parts {
		room = room[copy(room, part):]
	}
	m.line.Out.Commit()
	return true
}
