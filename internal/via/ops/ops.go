package ops

import (
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/buffers"
	"github.com/viaduct-hpc/viaduct/internal/inbox"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/internal/via/bulk"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/peers"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Ops are the operations of an endpoint. They belong to one goroutine at a time.
type Ops struct {
	// What every message touches comes first.
	*peers.Peers
	host       bmi.Host
	links      *link.Links
	inbox      *inbox.Inbox
	caps       nic.Caps
	eagerBytes int
	splitBytes int // from this size on, each side moves half of a large message
	nowBytes   int // largest message that may leave without a descriptor; < 0: none
	polls      uint
	budget     int // bytes of large messages that this Poll may still move

	// Operations with something to do in the next Poll.
	moving   queue.Rounds[*opState] // a part of them was not given to the NIC yet
	settling queue.Rounds[*opState] // with memory to withdraw

	exposed     int                     // exposures that are not withdrawn
	withdrawing queue.Rounds[*exposure] // those that a peer is accessing

	larges     handles[*opState]
	ways       map[*Peer]*bulk.Chooser // of peers that large messages came from
	freeOps    *opState
	freeLarges []*large
	freeParts  []*parts
	buffers    buffers.Pool
	rts        wire.RTS
	cts        wire.CTS
}

// A Peer is the record of a peer: its connection, and the operations with it.
type Peer struct {
	// What every message touches comes first.
	oneBytes   int32               // largest message that goes as one packet, in bytes
	eagerBytes int32               // largest message without RTS, in bytes; each connection sets it
	sends      queue.List[opState] // waiting to be sent, in post order
	inbox      inbox.Peer
	peers.Peer

	arriving *parts              // an eager message of several packets that is arriving; nil: none
	movers   []*opState          // moves in DATA packets, waiting for a credit
	all      queue.List[opState] // all operations that have not completed, except those in the inbox
}

// An exposure is memory that is open to a peer (bmi.Exposure).
type exposure struct {
	o      *Ops
	memory link.Memory
}

// phase says where an operation that did not complete immediately is.
type phase uint8

const (
	// phaseSendQueued: in Peer.sends, waiting for READY, a credit or room.
	phaseSendQueued phase = iota + 1
	// phaseSending: the NIC has all packets, and has not finished with them.
	phaseSending
	// phasePostponed: a receive that was posted in DISCONNECT, and waits for INIT.
	phasePostponed
	// phaseLarge: a large message; its transfer knows more.
	phaseLarge
	// phaseLocal: a send of the endpoint to itself, announced to its inbox.
	phaseLocal
	// phaseEnding: it completes, with err if that is not nil, as soon as neither
	// the NIC nor the peer uses its memory.
	phaseEnding
)

// opState is the record of an operation from its post to its completion, if it did not
// complete immediately and is not in the inbox. Afterwards it goes to Ops.freeOps.
type opState struct {
	op    *bmi.Op
	r     *Peer
	phase phase
	err   error // why the operation failed, in phaseEnding

	all    queue.Links[opState] // Peer.all
	queued queue.Links[opState] // Peer.sends
	free   *opState             // Ops.freeOps

	// counted: the operation holds a reference of the peer machine. One that
	// only waits in a queue does not, or DISCONNECT would wait for it while it
	// waits for the next connection.
	counted bool

	// offset is how much of an eager send was given to the NIC; 0 ≤ offset ≤ its size.
	offset int
	// inflight counts descriptors that the NIC still has and that use the
	// memory of the operation.
	inflight int

	large *large         // phaseLarge, and phaseEnding after it
	local *inbox.Message // phaseLocal
}

// large is the part of an opState that only a large message uses.
type large struct {
	transfer bulk.Transfer
	id       uint64 // of this operation, in packets from the peer
	theirs   uint64 // of the peer's operation, in packets to it

	choice choice       // of a receive
	remote []wire.Piece // the peer's memory for this side's part
	memory link.Memory  // this side's, registered while the message moves

	waiting  bool // in Ops.moving or Peer.movers
	settling bool // in Ops.settling: its memory could not be withdrawn yet
}

// A choice is how a large message to be received moves, where the NIC leaves it open.
type choice struct {
	way   bulk.Way
	timed bool // the Chooser wants to know how long it took
	began time.Duration
}

// parts are an eager message of several packets that is arriving. Its packets follow
// each other, so a peer has one at most.
type parts struct {
	length, arrived int32 // 0 ≤ arrived < length; both are at most EagerBytesMax
	tag             uint32
	msg             *inbox.Message // an expected message; nil: an unexpected one
	class           bmi.Class
	buf             []byte // of an unexpected message
}

// of is the record that a peer is part of.
func of(p *peers.Peer) *Peer { return p.Link.Owner().(*Peer) }
