package core

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
)

// A small message is on its way when its sender is done with it. If the receiver then turns out to have failed, no operation is left that
// could return an error. Such messages are counted, and Finalize tells the program, unless it knows of the failure.

// Farewell is the context of the messages by which processes wait for each other at their end. Nobody minds if they are
// lost.
const Farewell ContextID = 4

// isMessage tells whether a packet is a whole message of the program's whose sender is done with it.
func (k *packet) isMessage() bool {
	if k.kind != wire.KindEager || k.op != nil {
		return false
	}
	h, _, err := wire.ParseEager(k.buf)
	return err == nil && ContextID(wire.ContextOf(h.Bits)) != Farewell
}

// lose is broke for a packet that could not be sent.
func (l *link) lose(message bool, cause error) {
	if message {
		l.proc.lose()
	}
	l.broke(cause)
}

// lose counts a message that did not get to the process. It is lost if the process has failed, or fails. If the process has left in good
// order, it did not want the message.
func (p *Proc) lose() {
	switch {
	case p == nil:
	case p.err != nil:
		p.e.stats.Lost++
	default:
		p.undelivered++
	}
}

// Aware tells whether the program has learned that a process failed, by an error or because it asked.
func (e *Engine) Aware() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.aware || e.onFailure != nil
}
