package tcp

import (
	"time"

	"github.com/viaduct-hpc/viaduct/methods/tcp/wire"
)

// Limits of a side of its own. Those of the protocol are in package wire.
const (
	// PiecesMax is the largest number of pieces in a list.
	PiecesMax = 1024

	// EarlyBytesPerPeer and EarlyMessagesPerPeer bound what is kept of one
	// peer's messages whose receive has not been posted, EarlyBytes what is
	// kept of all peers'. Beyond, the connection is not read any further.
	EarlyBytesPerPeer    = 1 << 20
	EarlyMessagesPerPeer = 4096
	EarlyBytes           = 256 << 20
	// By default all peers' have a part of the machine's memory if that is less than EarlyBytes.
	earlyParts    = 16
	earlyBytesMin = 4 << 20

	// ConnectionsMax bounds the connections that are accepted, if the process has descriptors for so many.
	ConnectionsMax = 65536

	// readBytes is what is read at once without knowing what it is; what of
	// it belongs to a large message is copied once more.
	readBytes = 32 << 10
	// peekBytes is the same behind a large message, which is often followed
	// by another.
	peekBytes = 1 << 10
	// moveBytes is what one Recv or Send of a large message moves at most, so
	// that the others have their turn, and so that the other side copies out
	// while this one copies in: the kernel passes on what it has when the call
	// ends. 1 MiB in one call takes half as long again.
	moveBytes = 256 << 10
	// Nobody is woken for less than a lowWaterPart of a message, or what is left of it, if that is lowWaterMin bytes or
	// more, or for less than lowWaterMax: each wake-up costs as much as to copy some 50 KiB. That it is a part has
	// a message that is alone copied out here while the rest of it is copied in there.
	lowWaterPart = 2
	lowWaterMin  = 64 << 10
	lowWaterMax  = 1 << 20
	// gatherBytes is the size up to which the bytes of a send are put behind
	// others and its header in one buffer, and gatherRoom the buffer's.
	gatherBytes = 4 << 10
	gatherRoom  = 64 << 10

	// hotMax connections that had traffic lately are read in every Poll, until
	// nothing came in hotPolls of them. Whatever else happens is looked for
	// in every eventPolls of them then, or in each if there are more than
	// hotFew: to ask what happened costs about as much as to read one of them
	// in vain.
	hotMax     = 4
	hotFew     = 2
	hotPolls   = 256
	eventPolls = 8
	// readsPerPoll bounds the connections that one Poll reads beside those.
	readsPerPoll = 64
	// acceptsPerPoll bounds the connections that one Poll accepts.
	acceptsPerPoll = 64

	// closeSpinPolls is how often Close polls in vain before it sleeps.
	closeSpinPolls = 100
	// idQuarantine is how many peer ids rest before one is used again.
	idQuarantine = 1024
)

// Times.
const (
	// ConnectTimeout is how long sends wait for a connection.
	ConnectTimeout = 5 * time.Second
	// HeaderTimeout is how long a header may stay incomplete, as in OrangeFS.
	HeaderTimeout = 10 * time.Second
	// MessageTimeout is how long a message may stay incomplete that is kept in memory of ours: an unexpected one, or one without a
	// receive.
	MessageTimeout = 30 * time.Second
	// HangupTimeout is how long a connection that the other side closed, and
	// that is not read because its next message has no receive, is kept for
	// that receive.
	HangupTimeout = 10 * time.Second
	// CloseDrainMax bounds how long Close waits for what was sent.
	CloseDrainMax = 2 * time.Second
	// acceptPause is how long a listener rests when the process has no room
	// for another connection.
	acceptPause = 100 * time.Millisecond
	// retryMin and retryMax are the pauses between attempts to connect under
	// Options.RetryAbsent.
	retryMin = 2 * time.Millisecond
	retryMax = 250 * time.Millisecond
)

// A whole eager message fits into one buffer, and a header into what is peeked.
var (
	_ [readBytes - wire.EagerMax - wire.HeaderLen]struct{}
	_ [peekBytes - wire.HeaderLen]struct{}
	_ [gatherRoom - gatherBytes - wire.HeaderLen]struct{}
)
