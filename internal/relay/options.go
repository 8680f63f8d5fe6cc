package relay

import (
	"net"
	"net/netip"
	"time"
)

// Options say what to relay, and with which faults.
type Options struct {
	// Ports are the ports to relay; at least one.
	Ports []Port
	// Seed determines all random decisions.
	Seed uint64
	// There describes the direction from the clients to the server, Back the other
	// one.
	There, Back Way
	// ClientsMax bounds the clients of each port; datagrams of further clients are
	// dropped. 0 means 64.
	ClientsMax int
	// Open opens a UDP socket; nil means that of package net, on the process's
	// host. Any goroutine may call it.
	Open func(at netip.AddrPort) (*net.UDPConn, error)
}

// A Port joins an address of the relay to one of the server.
type Port struct {
	// Listen is the address to which clients send. Port 0 means a free one.
	Listen netip.AddrPort
	// Server is the address to which the relay forwards.
	Server netip.AddrPort
	// From is the source address of forwarded datagrams; the zero value leaves the
	// choice to the kernel.
	From netip.Addr
}

// A Way is the treatment of datagrams in one direction. The zero value forwards
// everything at once.
type Way struct {
	// Loss is the probability that a datagram is lost, Duplicate that it is
	// forwarded twice, Corrupt that one of its bits changes.
	Loss, Duplicate, Corrupt float64
	// Reorder is the probability that a datagram is delayed by up to ReorderMax
	// more, so that later ones overtake it.
	Reorder float64
	// ReorderMax bounds that time; 0 means 1 ms.
	ReorderMax time.Duration
	// Delay is the delay of every datagram. Jitter bounds an additional delay that
	// does not change the order.
	Delay, Jitter time.Duration
	// BytesPerSecond is the rate at which payload is forwarded; 0 means no limit.
	BytesPerSecond int
	// QueueBytes is how much payload may wait because of that rate; datagrams
	// without room are dropped. 0 means 256 KiB.
	QueueBytes int
}

// waitingMax bounds the datagrams that wait in one direction, for any reason.
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

// Counters are the counts of one direction, in datagrams.
type Counters struct {
	Received   uint64 // came in
	Sent       uint64 // forwarded, duplicates included
	Lost       uint64 // by Loss, or while the direction was cut
	Duplicated uint64
	Reordered  uint64 // were held back
	Corrupted  uint64
	Dropped    uint64 // found no room in the queue
	Refused    uint64 // from one client too many, or rejected by the kernel
}
