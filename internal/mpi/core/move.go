package core

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A transfer is a large message whose data is moving, piece by piece, in expected messages of bmi
// under one tag. A piece goes through staging memory if its data is not contiguous, or if its
// receive may be abandoned.
type transfer struct {
	l     *link // also set for a send that waits at its peer
	tag   bmi.Tag
	total int // bytes that move
	each  int // bytes of every piece except the last
	next  int // 0 ≤ next ≤ total: where the next piece begins
	lent  int // pieces that bmi has
	stop  bool

	stalled bool // it waits for room in bmi and is in Engine.stalled
}

// A piece is one expected message.
type piece struct {
	o       *op
	off, n  int
	staging []byte // nil if the data is in the user's memory
	next    *piece
}

// begin starts to move the data. The op is in its lists.
func (o *op) begin(l *link, tag bmi.Tag, total, each int) {
	o.at = atMove
	o.move = transfer{l: l, tag: tag, total: total, each: each}
	o.advance()
}

// advance posts as many pieces as bmi may have, and ends the op after the last.
func (o *op) advance() {
	m := &o.move
	most := piecesMax
	mem, direct := o.direct()
	if !direct {
		most = stagedMax
	}
	for m.next < m.total && m.lent < most && !m.stop {
		n := min(m.each, m.total-m.next)
		k := o.e.newPiece(o, m.next, n)
		var b []byte
		if direct {
			b = mem[m.next : m.next+n]
		} else {
			b = o.e.pool.Take(n)[:n]
			k.staging = b
			if o.kind == opSend {
				o.buf.read(b, m.next)
			}
		}
		if !o.postPiece(k, b) {
			break
		}
	}
	if m.lent == 0 && !m.stalled && (m.stop || m.next == m.total) {
		o.unlist()
		o.complete()
	}
}

// direct returns the op's data if bmi may move it without staging.
func (o *op) direct() ([]byte, bool) {
	if o.staged {
		return nil, false
	}
	return o.buf.piece()
}

// postPiece posts a piece, and returns whether another may follow.
func (o *op) postPiece(k *piece, b []byte) bool {
	e, m := o.e, &o.move
	var posted bmi.Posted
	var err error
	if o.kind == opSend {
		posted, err = e.ctx.PostSend(m.l.addr, m.tag, b, k)
	} else {
		posted, err = e.ctx.PostRecv(m.l.addr, m.tag, b, k)
	}
	if err != nil {
		e.freePiece(k)
		if isRoom(err) {
			e.stall(o)
			return false
		}
		m.stop = true
		if o.err == nil {
			o.err = sendError(o, err)
		}
		return false
	}
	m.next += k.n
	if posted.Done {
		o.moved(k, posted.Size)
		return true
	}
	m.lent++
	e.lent++
	return true
}

// stall queues an op until bmi has room.
func (e *Engine) stall(o *op) {
	if !o.move.stalled {
		o.move.stalled = true
		e.stalled.Push(o)
	}
}

func (e *Engine) unstall(o *op) {
	if o.move.stalled {
		o.move.stalled = false
		e.stalled.Remove(o)
	}
}

// moved handles a piece that has arrived or was sent.
func (o *op) moved(k *piece, size int) {
	if o.kind == opRecv {
		if size != k.n && o.err == nil {
			o.err = k.errSize(size)
			o.move.stop = true
		} else if k.staging != nil && !o.abandoned {
			o.buf.write(k.off, k.staging)
		}
	}
	o.e.freePiece(k)
}

// errSize is the error for a piece of the wrong size. It breaks the protocol; other pieces may
// never come.
func (k *piece) errSize(size int) error {
	return errclass.New(errclass.Intern, "a piece of a message has %d bytes, and not the %d it was to have", size, k.n)
}

// ended handles bmi's completion of a piece.
func (k *piece) ended(size int, err error) {
	o := k.o
	e := o.e
	o.move.lent--
	e.lent--
	if err == nil && o.kind == opRecv && size != k.n {
		err = k.errSize(size)
	}
	if err != nil {
		l := o.move.l
		if o.err == nil {
			o.err = sendError(o, err)
		}
		o.move.stop = true
		e.freePiece(k)
		if !l.gone && l.proc != nil && !l.proc.left {
			l.broke(err) // also fails the op, unless other pieces are in bmi
			if o.at != atMove {
				return // the op has ended, and the waiting calls were woken
			}
		}
	} else {
		o.moved(k, size)
	}
	e.unstall(o)
	o.advance()
	if e.lent == 0 {
		e.changed()
	}
}

// sendError returns the error of an op whose message bmi could not move.
func sendError(o *op, err error) error {
	if o.proc != nil && o.proc.err != nil {
		return o.proc.err
	}
	return errclass.Wrap(errclass.ProcFailed, err, "the message did not get through")
}

func (e *Engine) newPiece(o *op, off, n int) *piece {
	k := e.freePieces
	if k == nil {
		k = new(piece)
	} else {
		e.freePieces = k.next
	}
	*k = piece{o: o, off: off, n: n}
	return k
}

func (e *Engine) freePiece(k *piece) {
	if k.staging != nil {
		e.pool.Give(k.staging)
	}
	*k = piece{next: e.freePieces}
	e.freePieces = k
}

// granted begins to move an announced message, whose receive has begun.
func (e *Engine) granted(l *link, c wire.CTS) {
	p := l.proc
	o := e.sends.get(c.ID)
	if o == nil || o.proc != p || o.at != atPeer || o.move.l != l {
		p.broke("a CTS for send %d, which waits for none", c.ID)
		return
	}
	each := o.eachPiece(l)
	if c.Piece != 0 {
		each = min(each, int(c.Piece))
	}
	if c.Granted > uint64(o.size) || each < pieceBytesMin || bmi.Tag(c.Tag) == tagLife {
		p.broke("a CTS for %d bytes of %d in pieces of %d", c.Granted, o.size, c.Piece)
		return
	}
	e.sends.remove(c.ID)
	o.begin(l, bmi.Tag(c.Tag), int(c.Granted), each)
}

// eachPiece returns the largest piece that the op can send or receive.
func (o *op) eachPiece(l *link) int {
	if _, direct := o.direct(); direct {
		return l.pieceMax
	}
	return min(l.pieceMax, o.e.cfg.Limits.StagingBytes)
}

// take receives a message that was announced: it tells the sender how to send the data.
func (o *op) take(l *link, id uint32, size, pieceMax int) {
	granted := min(size, o.size)
	each := min(o.eachPiece(l), pieceMax)
	tag := l.proc.nextTag()
	c := wire.CTS{Credit: l.proc.tell(), ID: id, Granted: uint64(granted), Piece: uint32(each), Tag: uint32(tag)}
	if granted == 0 {
		o.unlist()
		o.complete()
		l.post(wire.KindCTS, c.Append(l.e.packetBuffer()))
		return
	}
	// The receives must be posted before the sender knows of them.
	o.begin(l, tag, granted, each)
	l.post(wire.KindCTS, c.Append(l.e.packetBuffer()))
}

// nextTag returns the tag of the next message that moves from the process to this one.
func (p *Proc) nextTag() bmi.Tag {
	p.tag++
	if bmi.Tag(p.tag) == tagLife {
		p.tag++
	}
	return bmi.Tag(p.tag)
}
