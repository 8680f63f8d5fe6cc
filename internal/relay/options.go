package relay

import (
	"net"
	"net/netip"
	"time"
)

// Options say what to relay, and how badly.
type Options struct {
	// Ports are what the relay stands in for; at least one.
	Ports []Port
	// Seed decides what is left to chance.
	Seed uint64
	// There describes the way from the clients to the server, Back the other.
	There, Back Way
	// ClientsMax bounds the clients of each port; what others send is dropped. 0
	// means 64.
	ClientsMax int
	// Open opens a UDP socket; nil means the one of package net, on the host of the
	// process. Any goroutine may call it.
	Open func(at netip.AddrPort) (*net.UDPConn, error)
}

// A Port joins an address of the relay to one of the server.
type Port struct {
	// Listen is where clients send to. Port 0 means one that is free.
	Listen netip.AddrPort
	// Server is where that goes to.
	Server netip.AddrPort
	// From is the address from which it goes there; the zero value leaves that
	// to the kernel.
	From netip.Addr
}

// A Way is what happens in one direction. The zero value passes everything on at
// once.
type Way struct {
	// Loss is the probability that a datagram is lost, Duplicate that it goes on
	// twice, Corrupt that one of its bits changes.
	Loss, Duplicate, Corrupt float64
	// Reorder is the probability that a datagram is held back for up to
	// ReorderMax more, so that later ones overtake it.
	Reorder float64
	// ReorderMax bounds that time; 0 means 1 ms.
	ReorderMax time.Duration
	// Delay is how long every datagram takes; Jitter bounds what comes on top,
	// without a change of the order.
	Delay, Jitter time.Duration
	// BytesPerSecond is the rate at which payload goes on; 0 means no limit.
	BytesPerSecond int
	// QueueBytes is how much of it may wait because of that; what finds no room is
	// dropped. 0 means 256 KiB.
	QueueBytes int
}

// waitingMax bounds the datagrams that wait in one direction, whatever for.
const waitingMax = 1 << 14

const (
	clientsDefault = 64
	reorderDefault = time.Millisecond
	queueDefault   = 256 << 10
)

func (w *Way) setDefaults() {
	if w.ReorderMax == 0 {
		w.ReorderMax = reorderDefault
	}
	if w.QueueBytes == 0 {
		w.QueueBytes = queueDefault
	}
}

// Counters are what happened in one direction, in datagrams.
type Counters struct {
	Received   uint64 // came in
	Sent       uint64 // went on, duplicates included
	Lost       uint64 // by Loss, or while the way was cut
	Duplicated uint64
	Reordered  uint64 // were held back
	Corrupted  uint64
	Dropped    uint64 // found no room in the queue
	Refused    uint64 // came from one client too many, or the kernel would not send them
}
