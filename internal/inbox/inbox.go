package inbox

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/buffers"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/peer"
)

// An Inbox is the receiving side of one method.
type Inbox struct {
	match        *matchbits.Engine[*bmi.Op, *Message]
	freeMessages *Message
	host         bmi.Host
	buffers      *buffers.Pool
	errors       *bmi.ErrorCounts
	eagerBytes   int
	earlyBytes   int // of all peers
	lines        []line
	backlogs     int    // in all lines
	serial       uint64 // of the last message that was held
}

// Options say what an Inbox works with. All fields are required.
type Options struct {
	// Seed is that of the match table: secret and random, except in tests.
	Seed uint64
	// EagerBytes is the size of the largest message that counts as an eager one.
	EagerBytes int
	Host       bmi.Host
	Buffers    *buffers.Pool    // shared with the rest of the method
	Errors     *bmi.ErrorCounts // truncated and cancelled receives are counted here
}

// New makes an Inbox.
func New(o Options) *Inbox {
	return &Inbox{
		match:      matchbits.New[*bmi.Op, *Message](matchbits.Options{Seed: o.Seed}),
		host:       o.Host,
		buffers:    o.Buffers,
		errors:     o.Errors,
		eagerBytes: o.EagerBytes,
	}
}

// Recvs is the number of receives that wait for a message.
func (b *Inbox) Recvs() int { return b.match.PostedLen() }

// Early is the number of messages that came before their receive.
func (b *Inbox) Early() int { return b.match.KeptLen() }

// EarlyBytes is how much memory they take.
func (b *Inbox) EarlyBytes() int { return b.earlyBytes }

// A Peer is an Inbox's record of a remote endpoint. It is part of the method's record of that
// endpoint.
type Peer struct {
	// key is the match bits of an expected message from the peer, without the tag.
	key        matchbits.Bits
	recvs      bmi.OpList          // everything not completed, in post order
	early      queue.List[Message] // in order of arrival
	earlyBytes int
	backlog    *backlog // of unexpected messages; nil: none is held
	count      *bmi.Traffic
	addr       bmi.Addr
}

// Init prepares a Peer for use. What it receives is counted in count.
func (p *Peer) Init(id peer.ID, addr bmi.Addr, count *bmi.Traffic) {
	p.addr, p.count = addr, count
	p.key = matchbits.Make(matchbits.TypeExpected, 0, matchbits.PeerID(id), 0)
}

// ID is the id that the peer was given in Init.
func (p *Peer) ID() peer.ID { return peer.ID(p.key.PeerID()) }

// Addr is the address of the endpoint.
func (p *Peer) Addr() bmi.Addr { return p.addr }

// Recvs is the number of receives of this peer that are not complete. It walks them.
func (p *Peer) Recvs() int { return p.recvs.Len() }

// HasRecvs reports whether there are any.
func (p *Peer) HasRecvs() bool { return p.recvs.First() != nil }

// Early is the number of messages of this peer that came before their receive.
func (p *Peer) Early() int { return p.early.Len() }

// EarlyBytes is how much memory they take.
func (p *Peer) EarlyBytes() int { return p.earlyBytes }

// Holds reports whether the endpoint had no room for an unexpected message of this peer.
func (p *Peer) Holds() bool { return p.backlog != nil }
