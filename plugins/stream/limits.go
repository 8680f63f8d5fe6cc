//go:build linux

package stream

import (
	"errors"
	"time"
)

// Limits of the protocol.
const (
	// MessageMax is the largest message, in bytes.
	MessageMax = 1 << 30
	// RecordBytesMax bounds a record on its way, in bytes: what a gRPC server that has the
	// service of plugins is to take (grpc.MaxRecvMsgSize).
	RecordBytesMax = MessageMax + recordBytes
	// recordBytes bounds what a record takes besides its message.
	recordBytes = 64 << 10
	// AddressMax bounds the text of an address, in bytes.
	AddressMax = 4 << 10
	// strangerBit marks the ids of peers that the plugin met first.
	strangerBit = 1 << 63
)

// Limits of this side.
const (
	// ArenaBytes is the arena that Serve needs for messages of MessageMax: half of it is
	// for sends and half for receives, so that neither waits for the other.
	ArenaBytes = 2 * MessageMax
	// waitingBytesMax is how much a plugin keeps of operations that its arena has no
	// room for, before it leaves the stream unread.
	waitingBytesMax = 64 << 20
	// waitingBytes is what an operation that waits takes besides its message.
	waitingBytes = 256
	// pauseMin and pauseMax bound the pauses between two looks at a ring that is full.
	pauseMin, pauseMax = 20 * time.Microsecond, 5 * time.Millisecond
)

var (
	// ErrProtocol: the other side broke the rules of the stream.
	ErrProtocol = errors.New("plugins/stream: the other side broke the rules of the stream")
	// ErrEnded: the plugin ended the stream in good order.
	ErrEnded = errors.New("plugins/stream: the plugin ended the stream")
)

var (
	// errClosed: this side closed the pump.
	errClosed = errors.New("plugins/stream: closed")
	// errFinished: the plugin is done with the session.
	errFinished = errors.New("plugins/stream: the session is over")
)
