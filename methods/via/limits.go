package via

import (
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// Protocol limits: both sides rely on them (docs/protocol.md).
const (
	// EagerBytesMax is the largest message that is sent without asking, and
	// so the largest unexpected message. Devices with a small MTU have less.
	EagerBytesMax = 16 << 10

	// EagerPacketsMax bounds the packets of one eager message.
	EagerPacketsMax = 8

	// ExpectedBytesMax is the largest expected message.
	ExpectedBytesMax = 1 << 30

	// CreditReserve is the number of credits that only a CREDIT packet or a
	// farewell may spend, so that credits always come back.
	CreditReserve = 1
	// ControlReserve is the number of further credits that messages may not
	// spend, but CTS, DATA, FIN and KEEP_ALIVE may.
	ControlReserve = 3
)

// Local limits: a side may choose its own.
const (
	// CreditsPerPeer is the number of receives that are posted for each
	// connected peer, unless the device's queues are shorter.
	CreditsPerPeer = 64

	// PiecesMax is the largest number of pieces in a list.
	PiecesMax = 1024

	// RDMAPiecesMax is the largest number of pieces that is moved by RDMA; a
	// list with more travels in DATA packets.
	RDMAPiecesMax = wire.PiecesMax

	// EarlyBytesMaxPerPeer and EarlyMessagesMaxPerPeer bound what is kept of
	// messages, and of announcements of large ones, whose receive has not been
	// posted. Beyond, packets are still taken, but their credits are withheld:
	// the peer runs dry after as many as receives are posted for it
	// (docs/decisions/0002). The bytes are those of the memory in use here; of
	// a large message, its announcement is all that is here.
	EarlyBytesMaxPerPeer    = 4 << 20
	EarlyMessagesMaxPerPeer = 4096

	// EarlyBytesMaxOtherUser and EarlyMessagesMaxOtherUser are the same for peers that another user of this
	// machine runs: such a user can have hundreds of connections.
	EarlyBytesMaxOtherUser    = 256 << 10
	EarlyMessagesMaxOtherUser = 512

	// RDMAChunkBytes is what one RDMA descriptor moves at most, and
	// RDMAPollBytes what one Poll moves at most for all peers.
	RDMAChunkBytes = 256 << 10
	RDMAPollBytes  = 2 << 20

	// SplitBytesMin is the size from which both sides move a half each over a NIC
	// whose RDMA is a copy; below, and over others, the receiver moves everything.
	SplitBytesMin = 32 << 10

	// CompletionsPerPoll bounds the work of one Poll.
	CompletionsPerPoll = 32

	// closeSpinPolls is how often Close polls in vain before it sleeps.
	closeSpinPolls = 100

	// causeWaitPolls is how many Polls a link whose descriptors came back has time to
	// say why it ended.
	causeWaitPolls = 64

	// HousekeepingPolls is how many Polls go by between looks at the clock.
	HousekeepingPolls = 128
)

// Times. The peer machine gets them as its configuration.
const (
	ConnectTimeout  = 5 * time.Second
	ConnectRetryMin = 2 * time.Millisecond
	ConnectRetryMax = 250 * time.Millisecond
	// CloseDrainMax bounds how long Close waits for sends under way.
	CloseDrainMax = 2 * time.Second
)

// The limits fit together: an eager message can be described, fits into the
// credits that a peer has at least, and is worth less than a rendezvous.
var (
	_ [wire.EagerBytesLimit - EagerBytesMax]struct{}
	_ [CreditsPerPeer - EagerPacketsMax - CreditReserve - ControlReserve]struct{}
	_ [SplitBytesMin - EagerBytesMax]struct{}
	_ [wire.RTSBytesMax - ExpectedBytesMax]struct{}
	_ [wire.CreditsMax - CreditsPerPeer]struct{}
)
