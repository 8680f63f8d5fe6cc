package core

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
)

// The send of a small message completes before the message has arrived. If the receiver turns out to have failed, no operation is left that
// could return an error. Such messages are counted. Finalize reports them, unless the program has learned of the failure.

// Contexts of the library's own messages.
const (
	// Farewell is the context of the messages with which processes wait for each other in Finalize.
	Farewell ContextID = 4
	// Recovery is the context of the messages with which processes agree after some have failed. A program that uses it has
	// learned of the failure.
	Recovery ContextID = 5
)

// isMessage reports whether a packet is a complete message of the program, whose send has completed.
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

// lose is broke after a packet could not be sent. message says that the packet was a message (isMessage).
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
