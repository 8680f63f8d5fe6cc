package bmi

import "github.com/viaduct-hpc/viaduct/bmi/netstats"

// MethodStats are one method's totals since it was opened. Counters only grow.
type MethodStats struct {
	Method string
	Traffic
	Errors ErrorCounts

	// Peers known, and of these connected.
	Peers, Connected int
	// CopiedBytes counts bytes of large messages that were copied because their memory is not from
	// Alloc. Methods that do not copy leave it 0.
	CopiedBytes uint64
	// PostedRecvs and EarlyMessages are waiting in the match tables now.
	PostedRecvs, EarlyMessages int

	// Link counts the work of all connections, including those that have ended,
	// and Packets their packets. Both are zero for methods that rely on the
	// system, or on memory, to be reliable.
	Link    netstats.Link
	Packets netstats.Packets
}

// PeerStats are one peer's totals since it became known.
type PeerStats struct {
	Method string
	Addr   string
	State  string // of the connection: INIT, WAIT, READY, DISCONNECT
	Traffic

	// Credits that this side may spend now, and credits that it owes the peer.
	CreditsAvailable, CreditsOwed int
	// Refs is the number of operations in flight.
	Refs int

	// Link counts the work of the connections with the peer while they were in
	// use. Packets after the end of a connection count in MethodStats alone.
	Link netstats.Link
}

// Traffic counts messages and what they cost.
type Traffic struct {
	MessagesSent, MessagesReceived     uint64
	BytesSent, BytesReceived           uint64
	EagerSent, EagerReceived           uint64
	RendezvousSent, RendezvousReceived uint64
	UnexpectedSent, UnexpectedReceived uint64
	// EarlyReceived counts messages that arrived before their receive was posted.
	EarlyReceived uint64
	// CreditsSent counts explicit credit packets; CreditStalls how often a
	// send had to wait for a credit; HeldUnexpected how often an unexpected
	// message had to wait for room.
	CreditsSent, CreditStalls, HeldUnexpected uint64
	// Connects counts connections made, Disconnects those that ended.
	Connects, Disconnects uint64
}

// Add adds another's counts.
func (t *Traffic) Add(o *Traffic) {
	t.MessagesSent += o.MessagesSent
	t.MessagesReceived += o.MessagesReceived
	t.BytesSent += o.BytesSent
	t.BytesReceived += o.BytesReceived
	t.EagerSent += o.EagerSent
	t.EagerReceived += o.EagerReceived
	t.RendezvousSent += o.RendezvousSent
	t.RendezvousReceived += o.RendezvousReceived
	t.UnexpectedSent += o.UnexpectedSent
	t.UnexpectedReceived += o.UnexpectedReceived
	t.EarlyReceived += o.EarlyReceived
	t.CreditsSent += o.CreditsSent
	t.CreditStalls += o.CreditStalls
	t.HeldUnexpected += o.HeldUnexpected
	t.Connects += o.Connects
	t.Disconnects += o.Disconnects
}

// ErrorCounts counts what went wrong, by kind.
type ErrorCounts struct {
	Truncated     uint64 // receives shorter than their message
	Cancelled     uint64 // operations cancelled
	PeerFailed    uint64 // connections that broke
	Protocol      uint64 // packets that the format forbids
	Version       uint64 // peers with another protocol version
	ConnectFailed uint64 // connects that failed because the address did not answer, or refused
	TurnedAway    uint64 // connections not accepted because a limit was reached
	Displaced     uint64 // connections closed to make room for those of other hosts
	Incomplete    uint64 // connections ended because a header or a message stayed incomplete; also counted in Protocol
}

// Stats is what Endpoint.Stats returns.
type Stats struct {
	Methods  []MethodStats // of the methods that implement Statser, in the order of Info
	Peers    []PeerStats
	Endpoint EndpointStats
}

// EndpointStats are the endpoint's own totals since it was opened. Counters only
// grow; the last two fields are current values.
type EndpointStats struct {
	Polls        uint64 // calls of Method.Poll
	SpinsWon     uint64 // waits that ended while the caller was still polling
	SpinsLost    uint64 // waits that polled in vain and then slept
	Sleeps       uint64 // times a caller or the background goroutine slept
	Wakes        uint64 // wake-ups sent to callers asleep in a Test call
	HandlerCalls uint64
	// RefusedUnexpected counts how often a method had to hold a message because
	// the queue was full.
	RefusedUnexpected uint64

	QueuedUnexpected      int // messages not yet taken
	QueuedUnexpectedBytes int
}
