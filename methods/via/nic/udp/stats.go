package udp

import (
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// Stats are a device's counters since it was opened.
type Stats struct {
	// Cookies: requests that were asked to prove their address first. Refused:
	// those with another key, version or mode, or for a device that does not
	// listen. Busy: those that too many others waited before.
	Cookies, Refused, Busy uint64
	// Unknown: of the refused requests, those with a key that is not in the list of clients. Strangers: requests that
	// were not looked at, because too many of their host had such keys. Unnamed: requests of sides that gave themselves
	// an address that is not theirs by the list of servers, and so got another name.
	Unknown, Strangers, Unnamed uint64
	// Malformed: datagrams that are no packets. Stray: packets that belong to
	// nothing here. Resets: answers to packets of unknown connections. Protocol:
	// connections that ended because the other side broke the rules.
	Malformed, Stray, Resets, Protocol uint64
	// Forged: packets in a connection's name that its other side did not make, or
	// not so. Replayed: those that had arrived before, or came too late to tell.
	Forged, Replayed uint64
	// TooBig: packets that turned out to be larger than the path lets through.
	TooBig uint64
	// Holes: paths that swallowed large packets without a word.
	Holes uint64
	// Moved: how often the address of another side's lane changed.
	Moved uint64
	// Conns is the present number of connections in every state.
	Conns int
	// Sockets are the counters of both lanes' sockets.
	Sockets [wire.Lanes]dgram.Stats
}

// Stats returns the counters. Like all of a device it belongs to its owner.
func (d *Device) Stats() Stats {
	s := d.stats
	s.Conns = len(d.conns)
	for lane := range d.outs {
		s.Sockets[lane] = d.outs[lane].socket.Stats()
	}
	return s
}
