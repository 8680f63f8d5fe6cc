package udp

import (
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// Stats are a device's counters since it was opened.
type Stats struct {
	// Cookies: requests that had to prove their address first. Refused: requests with another key, version or mode, or
	// to a device that does not listen. Busy: requests refused because too many others were waiting.
	Cookies, Refused, Busy uint64
	// Unknown: of the refused requests, those with a key that is not in the list of clients. Strangers: requests that
	// were not processed, because too many of their host had such keys. Unnamed: requests of sides that claimed an
	// address that is not theirs according to the list of servers, and so got another name.
	Unknown, Strangers, Unnamed uint64
	// Malformed: datagrams that are not packets. Stray: packets that belong to no connection or request here. Resets:
	// answers to packets of unknown connections. Protocol: connections that ended because the other side broke the
	// rules.
	Malformed, Stray, Resets, Protocol uint64
	// Forged: packets of a connection that were not made by its other side, or were changed. Replayed: packets that had
	// arrived before, or were too late to tell.
	Forged, Replayed uint64
	// TooBig: packets that were larger than the path's MTU.
	TooBig uint64
	// Holes: paths that silently dropped large packets.
	Holes uint64
	// Moved: how often the address of another side's lane changed.
	Moved uint64
	// Conns is the present number of connections in every state.
	Conns int
	// Sockets are the counters of both lanes' sockets.
	Sockets [wire.Lanes]dgram.Stats
}

// Stats returns the counters. Like all methods of a device it must be called by the owner.
func (d *Device) Stats() Stats {
	s := d.stats
	s.Conns = len(d.conns)
	for lane := range d.outs {
		s.Sockets[lane] = d.outs[lane].socket.Stats()
	}
	return s
}
