package ops

import "github.com/viaduct-hpc/viaduct/internal/via/wire"

// Protocol limits: both sides rely on them (docs/internals/protocols/via.md).
const (
	// EagerBytesMax is the largest message that is sent without asking, and
	// so the largest unexpected message. Devices with a small MTU have less.
	EagerBytesMax = 16 << 10

	// EagerPacketsMax bounds the packets of one eager message.
	EagerPacketsMax = 8

	// ExpectedBytesMax is the largest expected message.
	ExpectedBytesMax = 1 << 30
)

// Local limits: a side may choose its own.
const (
	// PiecesMax is the largest number of pieces in a list.
	PiecesMax = 1024

	// RDMAPiecesMax is the largest number of pieces that is moved by RDMA; a
	// list with more travels in DATA packets.
	RDMAPiecesMax = wire.PiecesMax

	// EarlyBytesMaxPerPeer and EarlyMessagesMaxPerPeer bound the messages of one
	// peer that wait for their receive. Beyond them its packets are still
	// accepted, but their credits are withheld, so the peer can send at most as
	// many more as receives are posted for it (docs/internals/decisions/0002). The bytes
	// are those of memory used here: a large message counts with its
	// announcement only.
	EarlyBytesMaxPerPeer    = 4 << 20
	EarlyMessagesMaxPerPeer = 4096

	// EarlyBytesMaxOtherUser and EarlyMessagesMaxOtherUser are the same limits for a peer that another user of
	// this machine runs. Such a user can have hundreds of connections.
	EarlyBytesMaxOtherUser    = 256 << 10
	EarlyMessagesMaxOtherUser = 512

	// RDMAChunkBytes limits the bytes of one RDMA descriptor, RDMAPollBytes those that one Poll moves for all peers.
	RDMAChunkBytes = 256 << 10
	RDMAPollBytes  = 2 << 20

	// SplitBytesMin is the size from which each side moves half of a message, over
	// NICs that implement RDMA by copying. The receiver alone moves all others.
	SplitBytesMin = 32 << 10

	// ExposuresMax bounds the memory that stays registered for peers (bmi.RemoteAccessor). The NIC needs room for that of
	// messages.
	ExposuresMax = 4096

	// HousekeepingPolls is the number of Polls between two looks at the clock.
	HousekeepingPolls = 128
)

// The limits fit together: the header can express the length of an eager message, and only
// larger messages are divided.
var (
	_ [wire.EagerBytesLimit - EagerBytesMax]struct{}
	_ [SplitBytesMin - EagerBytesMax]struct{}
	_ [wire.RTSBytesMax - ExpectedBytesMax]struct{}
)
