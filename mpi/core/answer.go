package core

import "github.com/viaduct-hpc/viaduct/mpi/core/wire"

// isAnswer tells whether packets of a kind are sent because the peer sent something. It alone
// decides how many these are; of all others, the window or the user does.
func isAnswer(kind wire.Kind) bool {
	switch kind {
	case wire.KindCTS, wire.KindAck, wire.KindCredit, wire.KindCancelled:
		return true
	}
	return false
}

// mayAnswer tells whether an answer may be posted now. Otherwise it waits, or the peer is cut off
// because it never reads any.
func (l *link) mayAnswer(kind wire.Kind, b []byte) bool {
	if l.answering < answersMax && l.answers.Empty() {
		l.answering++
		return true
	}
	e := l.e
	if l.waiting > slotMask { // more than it can have sends that wait for one
		e.giveBack(b)
		l.proc.broke("it does not read the answers to what it sends")
		return false
	}
	k := e.newPacket(nil, kind)
	k.buf = e.keep(b)
	l.answers.Push(k)
	l.waiting++
	return false
}

// answered counts an answer that is out, or never will be.
func (k *packet) answered() {
	if k.l != nil && isAnswer(k.kind) {
		k.l.answering--
	}
}

// moreAnswers posts those that waited for others to be out.
func (l *link) moreAnswers() {
	for !l.gone && l.answering < answersMax && !l.answers.Empty() {
		e := l.e
		k := l.answers.Pop()
		l.waiting--
		l.answering++
		k.l = l
		if !e.held.Empty() || !k.post() {
			e.held.Push(k)
		}
	}
}
