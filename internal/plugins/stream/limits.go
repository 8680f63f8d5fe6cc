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
	// RecordBytesMax limits a record in the stream, in bytes. A gRPC server with the plugins'
	// service must accept it (grpc.MaxRecvMsgSize).
	RecordBytesMax = MessageMax + recordBytes
	// recordBytes limits the size of a record without its message.
	recordBytes = 64 << 10
	// AddressMax limits the text of an address, in bytes.
	AddressMax = 4 << 10
	// strangerBit marks the ids of peers that the plugin met first.
	strangerBit = 1 << 63
)

// Limits of this side.
const (
	// ArenaBytes is the arena that Serve needs for messages of MessageMax: half of it is for sends
	// and half for receives, so that neither waits for the other.
	ArenaBytes = 2 * MessageMax
	// waitingBytesMax limits the bytes of operations that wait for room in the arena; beyond it, a
	// plugin does not read the stream.
	waitingBytesMax = 64 << 20
	// waitingBytes is the cost of a waiting operation in addition to its message.
	waitingBytes = 256
	// pauseMin and pauseMax limit the pauses between two attempts to write to a full ring.
	pauseMin, pauseMax = 20 * time.Microsecond, 5 * time.Millisecond
)

var (
	// ErrProtocol: the other side broke the rules of the stream.
	ErrProtocol = errors.New("internal/plugins/stream: the other side broke the rules of the stream")
	// ErrEnded: the plugin ended the stream in good order.
	ErrEnded = errors.New("internal/plugins/stream: the plugin ended the stream")
)

var (
	// errClosed: this side closed the pump.
	errClosed = errors.New("internal/plugins/stream: closed")
	// errFinished: the plugin is done with the session.
	errFinished = errors.New("internal/plugins/stream: the session is over")
)
