package core

import "github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"

// isAnswer tells whether packets of a kind answer a packet of the peer. Only the peer decides how
// many of these there are; the window or the user limits all others.
func isAnswer(kind wire.Kind) bool {
	switch kind {
	case wire.KindCTS, wire.KindAck, wire.KindCredit, wire.KindCancelled, wire.KindReturn:
		return true
	}
	return false
}

// mayAnswer tells whether an answer may be posted now. If not, it is queued, or the peer is dropped
// because it never reads answers.
func (l *link) mayAnswer(kind wire.Kind, b []byte) bool {
	if l.answering < answersMax && l.answers.Empty() {
		l.answering++
		return true
	}
	e := l.e
	if l.waiting > slotMask { // more than the peer can have sends that wait for an answer
		e.giveBack(b)
		l.proc.broke("it does not read the answers to what it sends")
		return false
	}
	k := e.newPacket(nil, kind)
	k.buf = e.keep(b)
	l.answers.Push(k)
	l.waiting++
	if kind == wire.KindReturn {
		l.returns++
	}
	return false
}

// answered counts an answer that is sent or was dropped.
func (k *packet) answered() {
	if k.l != nil && isAnswer(k.kind) {
		k.l.answering--
	}
}

// moreAnswers posts answers that waited for earlier ones to be sent.
func (l *link) moreAnswers() {
	for !l.gone && l.answering < answersMax && !l.answers.Empty() {
		e := l.e
		k := l.answers.Pop()
		l.waiting--
		if k.kind == wire.KindReturn {
			l.returns--
		}
		l.answering++
		k.l = l
		if !e.held.Empty() || !k.post() {
			e.held.Push(k)
		}
	}
}
