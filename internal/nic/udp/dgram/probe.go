package dgram

import "net/netip"

// A Prober is a Device that learns when another machine reports that no process has a
// port (ICMP port unreachable). A Socket never reports that: such a message about one
// destination would disturb packets to all others.
//
// Any host can forge such a message. The quoted packet proves that its sender has
// seen one of ours, if it contains a value that nobody can guess. The owner must
// check that.
type Prober interface {
	// Probe sends a packet as a socket at an address of this machine would, but from
	// a separate port, at which nothing is received. The packet may be lost silently.
	Probe(from netip.Addr, to netip.AddrPort, packet []byte)

	// Absent returns the destination of a probe that found no process. It copies the
	// quoted beginning of the probe to quote, as far as there is room; n is the
	// number of bytes. ok is false if there was no report since the last call.
	//
	// A report ends a Sleep of the device like an arrival, until it was taken.
	Absent(quote []byte) (to netip.AddrPort, n int, ok bool)

	// EndProbes frees the resources of Probe, when no connection waits for reports
	// any more.
	EndProbes()
}
