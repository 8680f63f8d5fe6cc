package dgram

import "net/netip"

// A Prober is a Device that hears when a machine says by itself that nobody has a
// port (ICMP port unreachable). A Socket never hears that: what such a message says
// of one destination would get in the way of packets to all others.
//
// Anybody can forge such a message. What proves that its sender has seen a packet of
// ours is that it quotes what nobody could guess, and that is for the owner to check.
type Prober interface {
	// Probe sends a packet as a socket at an address of this machine would, but
	// from a port of its own, at which nothing is received. It may be lost,
	// silently.
	Probe(from netip.Addr, to netip.AddrPort, packet []byte)

	// Absent says where a probe found nobody, and writes as much of its beginning
	// to quote as there is room for and as was told; n is how much. ok is false if
	// nothing was heard since the last call.
	//
	// An answer ends a Sleep of the device like an arrival, until it was
	// taken.
	Absent(quote []byte) (to netip.AddrPort, n int, ok bool)

	// EndProbes frees what Probe needed: nobody waits for answers any more.
	EndProbes()
}
