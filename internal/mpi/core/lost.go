package core

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
)

// A small message is on its way when its sender is done with it. If the receiver then turns out to have failed, no operation is left that
// could return an error. Such messages are counted, and Finalize tells the program, unless it knows of the failure.

// Contexts of messages that are not the program's.
const (
	// Farewell is that of messages by which processes wait for each other at their end.
	Farewell ContextID = 4
	// Recovery is that of messages by which processes agree although some have failed. A program that has it open knows of
	// failures.
	Recovery ContextID = 5
)

// isMessage tells whether a packet is a whole message of the program's whose sender is done with it.
func (k *packet) isMessage() bool {
	if k.kind != wire.KindEager || k.op != nil {
		return false
	}
	h, _, err := wire.ParseEager(k.buf)
	if err != nil {
		return false
	}
	id := ContextID(wire.ContextOf(h.Bits))
	return id != Farewell && id != Recovery
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
