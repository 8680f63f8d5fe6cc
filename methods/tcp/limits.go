package tcp

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
)

// Local limits. Those of the protocol are in package wire.
const (
	// PiecesMax is the largest number of pieces in a list.
	PiecesMax = 1024

	// EarlyBytesPerPeer and EarlyMessagesPerPeer bound the early messages kept of one peer, EarlyBytes those of all peers. At
	// the limit, the connection is not read any further.
	EarlyBytesPerPeer    = 1 << 20
	EarlyMessagesPerPeer = 4096
	EarlyBytes           = 256 << 20
	// The default for all peers is a fraction of the machine's memory, if that is less than EarlyBytes.
	earlyParts    = 16
	earlyBytesMin = 4 << 20

	// ConnectionsMax bounds the connections that are accepted, if the process has enough descriptors.
	ConnectionsMax = 65536

	// readBytes is how much is read at once before the contents are known. Parts of a large message among these bytes are
	// copied once more.
	readBytes = 32 << 10
	// peekBytes is how much is read at once after a large message, which is often followed by another one.
	peekBytes = 1 << 10
	// moveBytes is what one Recv or Send of a large message moves at most, so that other connections have their turn. It also
	// lets the other side copy out while this side copies in, because the kernel passes bytes on only when the call ends. 1 MiB
	// in one call takes half as long again.
	moveBytes = 256 << 10
	// The low-water mark is 1/lowWaterPart of a message, or the rest of it if that is less, if that is lowWaterMin bytes or
	// more. It is never more than lowWaterMax. Each wake-up costs as much as copying about 50 KiB. With a fraction, the
	// receiver of a single message copies out one part while the sender copies in the rest.
	lowWaterPart = 2
	lowWaterMin  = 64 << 10
	lowWaterMax  = 1 << 20
	// gatherBytes is the largest send whose bytes are copied behind its header into the buffer with others, and gatherRoom the
	// size of that buffer.
	gatherBytes = 4 << 10
	gatherRoom  = 64 << 10

	// Up to hotMax connections with recent traffic are read in every Poll, until hotPolls of them brought nothing. Meanwhile
	// only every eventPolls-th Poll asks for other events, or every Poll if more than hotFew connections are hot. Asking for
	// events costs about as much as reading one connection in vain.
	hotMax     = 4
	hotFew     = 2
	hotPolls   = 256
	eventPolls = 8
	// readsPerPoll bounds the other connections that one Poll reads.
	readsPerPoll = 64
	// acceptsPerPoll bounds the connections that one Poll accepts.
	acceptsPerPoll = 64

	// closeSpinPolls is how many fruitless Polls Close makes before it sleeps.
	closeSpinPolls = 100
)

// Times.
const (
	// ConnectTimeout is how long sends wait for a connection.
	ConnectTimeout = 5 * time.Second
	// HeaderTimeout is how long a header may stay incomplete, as in OrangeFS.
	HeaderTimeout = 10 * time.Second
	// MessageTimeout is how long a message in a buffer of the method may stay incomplete: an unexpected one, or one without a
	// receive.
	MessageTimeout = 30 * time.Second
	// HangupTimeout is how long to keep a connection that the other side has closed and whose next message waits for a receive.
	HangupTimeout = 10 * time.Second
	// CloseDrainMax bounds how long Close waits for sends under way.
	CloseDrainMax = 2 * time.Second
	// acceptPause is how long a listener pauses when the process has no room for another connection.
	acceptPause = 100 * time.Millisecond
	// retryMin and retryMax bound the pauses between attempts to connect under Options.RetryAbsent.
	retryMin = 2 * time.Millisecond
	retryMax = 250 * time.Millisecond
)

// A whole eager message fits into one buffer, and a header into peekBytes.
var (
	_ [readBytes - wire.EagerMax - wire.HeaderLen]struct{}
	_ [peekBytes - wire.HeaderLen]struct{}
	_ [gatherRoom - gatherBytes - wire.HeaderLen]struct{}
)
