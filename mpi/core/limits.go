package core

import (
	"time"

	"github.com/viaduct-hpc/viaduct/mpi/core/wire"
)

// Widths of the envelope in match bits.
const (
	tagBits    = wire.TagBits
	sourceBits = wire.SourceBits
)

// Limits bound what an engine keeps, and say when it asks before it sends.
type Limits struct {
	// EagerBytesMax is the largest message, in bytes, that travels without asking first.
	// Methods may have a lower limit.
	EagerBytesMax int
	// WindowBytes bounds what one peer may have sent that no receive has taken yet; the
	// rest it announces. A message counts as its length and chargeBytes. It is 16 KiB at
	// least, and 16 MiB at most.
	WindowBytes int
	// StagingBytes is the size of the pieces in which memory travels that is not
	// contiguous.
	StagingBytes int
	// LateTimeMax is how long a message has to arrive that is moving when the context of its
	// RecvContext ends; beyond, it is lost. < 0: no time at all.
	LateTimeMax time.Duration
}

// Defaults of Limits.
const (
	eagerBytesMax = 8 << 10
	windowBytes   = 256 << 10
	stagingBytes  = 64 << 10
	lateTimeMax   = time.Second
)

// The protocol's own.
const (
	// chargeBytes is what a packet counts beside its message: about what it costs the
	// receiver who keeps it.
	chargeBytes = 64
	// announcedBytes is how much beside its window a peer may have announced that no
	// receive has taken yet: 65536 announcements.
	announcedBytes = 65536 * chargeBytes
	// smallPacketMax is the largest packet, in bytes, that is put together in memory of
	// the engine's own, so that the send is over at once.
	smallPacketMax = 512
	// answersMax is how many answers to one peer bmi has at a time: who does not read them
	// must not take the room that others' packets need.
	answersMax = 1024
	// piecesMax is how many pieces of one message bmi has at a time; stagedMax how many
	// of them if each needs staging.
	piecesMax = 8
	stagedMax = 2
	// pieceBytesMin is the smallest piece that a peer may ask a message to travel in.
	pieceBytesMin = 512
	// windowMin and windowMax bound what a peer may say its window is: it is a promise, and
	// small messages on the faith of it are kept here until the peer reads.
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
