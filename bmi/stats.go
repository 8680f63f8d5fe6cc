package bmi

import (
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/bmi/netstats"
)

// MethodStats are one method's totals since it was opened. Counters only grow. The tags describe
// them for tools (package about).
type MethodStats struct {
	Method string `about:"-"`
	Traffic
	Errors ErrorCounts `about:"what went wrong, by kind"`

	Peers     int `about:"peers known"`
	Connected int `about:"peers connected"`
	// Methods that do not copy leave CopiedBytes 0.
	CopiedBytes   uint64 `about:"bytes of large messages copied because their memory is not from Alloc"`
	PostedRecvs   int    `about:"receives that wait for their messages"`
	EarlyMessages int    `about:"messages that wait for their receives"`

	// Link counts the work of all connections, including those that have ended, and Packets their
	// packets. Both are zero for methods that rely on the system, or on memory, to be reliable.
	Link    netstats.Link    `about:"what it took to make lossy links reliable"`
	Packets netstats.Packets `about:"packets, also those that belong to no connection"`

	// Own are counters that only this method has, such as those of its NIC. Their names do not say
	// the method: "nic.sent".
	Own []about.Count `about:"-"`
}

// PeerStats are one peer's totals since it became known.
type PeerStats struct {
	Method string `about:"-"`
	Addr   string `about:"-"`
	State  string `about:"state of the connection" states:"INIT,WAIT,READY,DISCONNECT"`
	Traffic

	CreditsAvailable int `about:"credits that this side may spend"`
	CreditsOwed      int `about:"credits that this side owes the peer"`
	Refs             int `about:"operations in flight"`

	QueuedSends int           `about:"sends that wait for a connection, a credit or room"`
	QueuedBytes int           `about:"bytes of them"`
	Age         time.Duration `about:"how long the connection has been in its state; 0: not known"`

	// The window of a link that the method makes reliable itself; 0 for other methods.
	WindowBytes   int `about:"bytes that may be under way at once"`
	InFlightBytes int `about:"bytes under way, which the peer has not acknowledged"`

	// Link counts the work of the connections with the peer while they were in
	// use. Packets after the end of a connection count in MethodStats alone.
	Link netstats.Link `about:"what it took to make lossy links reliable"`
}

// Add adds the counts of another connection with the same peer. The state is that of a connection which
// is READY, if one of them is.
func (p *PeerStats) Add(o *PeerStats) {
	if o.State == "READY" {
		p.State = o.State
	}
	p.Traffic.Add(&o.Traffic)
	p.CreditsAvailable += o.CreditsAvailable
	p.CreditsOwed += o.CreditsOwed
	p.Refs += o.Refs
	p.QueuedSends += o.QueuedSends
	p.QueuedBytes += o.QueuedBytes
	p.Age = max(p.Age, o.Age)
	p.WindowBytes += o.WindowBytes
	p.InFlightBytes += o.InFlightBytes
	p.Link.Add(&o.Link)
}

// Traffic counts messages and what they cost.
type Traffic struct {
	MessagesSent       uint64 `about:"messages sent"`
	MessagesReceived   uint64 `about:"messages received"`
	BytesSent          uint64 `about:"bytes of messages sent"`
	BytesReceived      uint64 `about:"bytes of messages received"`
	EagerSent          uint64 `about:"messages sent without asking the receiver"`
	EagerReceived      uint64 `about:"messages received that were sent without asking"`
	RendezvousSent     uint64 `about:"messages sent that the receiver was asked for"`
	RendezvousReceived uint64 `about:"messages received that this side was asked for"`
	UnexpectedSent     uint64 `about:"unexpected messages sent"`
	UnexpectedReceived uint64 `about:"unexpected messages received"`
	EarlyReceived      uint64 `about:"messages that arrived before their receive was posted"`

	CreditsSent    uint64 `about:"explicit packets with credits"`
	CreditStalls   uint64 `about:"times a send had to wait for a credit"`
	HeldUnexpected uint64 `about:"times an unexpected message had to wait for room"`

	Connects    uint64 `about:"connections made"`
	Disconnects uint64 `about:"connections that ended"`
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
	Truncated     uint64 `about:"receives shorter than their message"`
	Cancelled     uint64 `about:"operations cancelled"`
	PeerFailed    uint64 `about:"connections that broke"`
	Protocol      uint64 `about:"packets that the format forbids"`
	Version       uint64 `about:"peers with another protocol version"`
	ConnectFailed uint64 `about:"connects that failed because the address did not answer, or refused"`
	TurnedAway    uint64 `about:"connections not accepted because a limit was reached"`
	Displaced     uint64 `about:"connections closed to make room for those of other hosts"`
	Incomplete    uint64 `about:"connections ended because a header or a message stayed incomplete; also counted in protocol"`
}

// Stats is what Endpoint.Stats returns.
type Stats struct {
	Methods  []MethodStats // of the methods that implement Statser, in the order of Info
	Peers    []PeerStats
	Endpoint EndpointStats
}

// EndpointStats are the endpoint's own totals since it was opened. Counters only
// grow; ints are current values.
type EndpointStats struct {
	Polls        uint64        `about:"calls of Method.Poll"`
	SpinsWon     uint64        `about:"waits that ended while the caller was still polling"`
	SpinsLost    uint64        `about:"waits that polled in vain and then slept"`
	Sleeps       uint64        `about:"times a caller or the background goroutine slept"`
	Slept        time.Duration `about:"time slept, by all of them" class:"timer"`
	Wakes        uint64        `about:"wake-ups sent to callers asleep in a Test call"`
	HandlerCalls uint64        `about:"calls of handlers of unexpected messages"`

	RefusedUnexpected uint64 `about:"times a method held an unexpected message because the queue was full"`

	QueuedUnexpected      int `about:"unexpected messages not yet taken, of classes without a handler"`
	QueuedUnexpectedBytes int `about:"bytes of unexpected messages not yet taken"`
}
