package core

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
)

// Widths of the envelope in match bits.
const (
	tagBits    = wire.TagBits
	sourceBits = wire.SourceBits
)

// Limits are an engine's memory and time limits, and the size from which it announces messages.
type Limits struct {
	// EagerBytesMax is the largest message, in bytes, that is sent without an announcement. Methods
	// may have a lower limit.
	EagerBytesMax int `about:"largest message that is sent without an announcement, in bytes; methods may have a lower limit"`
	// WindowBytes limits how much one peer may have sent before receives take it; the peer
	// announces the rest. A message counts as its length plus chargeBytes. The window is 16 KiB to
	// 16 MiB.
	WindowBytes int `about:"bytes that a peer may send before receives take them; it announces the rest"`
	// StagingBytes is the size of the pieces in which non-contiguous memory travels.
	StagingBytes int `about:"size of the pieces of non-contiguous memory on their way, in bytes"`
	// LateTimeMax is how long a message that is moving when the context of its RecvContext ends has
	// to arrive. After that it is lost. A negative value means no time at all.
	LateTimeMax time.Duration `about:"how long a message that is moving when the context of its receive ends has to arrive; < 0: no time at all"`
}

// Defaults of Limits.
const (
	eagerBytesMax = 8 << 10
	windowBytes   = 256 << 10
	stagingBytes  = 64 << 10
	lateTimeMax   = time.Second
)

// Limits of the protocol.
const (
	// chargeBytes is what a packet counts in addition to its message: about what it costs the
	// receiver to keep it.
	chargeBytes = 64
	// announcedBytes is how much, in addition to its window, a peer may have announced before
	// receives take it: 65536 announcements.
	announcedBytes = 65536 * chargeBytes
	// byeTimeMax is how long a process that closed a connection may take to say BYE on another one.
	byeTimeMax = 5 * time.Second
	// smallPacketMax is the largest packet, in bytes, that is built in memory of the engine, so
	// that the send completes at once.
	smallPacketMax = 512
	// answersMax is how many answers to one peer bmi has at a time: a peer that does not read them
	// must not take the room that the packets of others need.
	answersMax = 1024
	// piecesMax is how many pieces of one message bmi has at a time; stagedMax is the limit if each
	// needs staging.
	piecesMax = 8
	stagedMax = 2
	// pieceBytesMin is the smallest piece size that a peer may ask for.
	pieceBytesMin = 512
	// windowMin and windowMax limit the window that a peer may tell. The window is a promise:
	// relying on it, this process keeps small messages until the peer reads.
	windowMin = 16 << 10
	windowMax = 16 << 20
)

func (l Limits) withDefaults() Limits {
	if l.EagerBytesMax <= 0 {
		l.EagerBytesMax = eagerBytesMax
	}
	if l.WindowBytes <= 0 {
		l.WindowBytes = windowBytes
	}
	l.WindowBytes = min(max(l.WindowBytes, windowMin), windowMax)
	l.EagerBytesMax = min(l.EagerBytesMax, l.WindowBytes/4)
	if l.StagingBytes <= 0 {
		l.StagingBytes = stagingBytes
	}
	if l.LateTimeMax == 0 {
		l.LateTimeMax = lateTimeMax
	}
	l.StagingBytes = max(l.StagingBytes, pieceBytesMin)
	return l
}
