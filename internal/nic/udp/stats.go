package udp

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// Stats are a device's counters since it was opened. The tags describe them for tools (package
// bmi/about).
type Stats struct {
	Cookies   uint64 `about:"requests that had to prove their address first"`
	Refused   uint64 `about:"requests with another key, version or mode, or to a device that does not listen"`
	Busy      uint64 `about:"requests refused because too many others were waiting"`
	Unknown   uint64 `about:"refused requests with a key that is not in the list of clients"`
	Strangers uint64 `about:"requests that were not processed, because too many of their host had such keys"`
	Unnamed   uint64 `about:"requests that claimed an address which is not theirs in the list of servers"`
	Malformed uint64 `about:"datagrams that are not packets"`
	Stray     uint64 `about:"packets that belong to no connection or request here"`
	Resets    uint64 `about:"answers to packets of unknown connections"`
	Protocol  uint64 `about:"connections that ended because the other side broke the rules"`
	Forged    uint64 `about:"packets of a connection that were forged or changed"`
	Replayed  uint64 `about:"packets that had arrived before, or were too late to tell"`
	TooBig    uint64 `about:"packets that were larger than the path's MTU"`
	Holes     uint64 `about:"paths that silently dropped large packets"`
	Moved     uint64 `about:"times the address of another side's lane changed"`
	Conns     int    `about:"connections in every state"`

	// Sockets are the counters of both lanes' sockets.
	Sockets [wire.Lanes]dgram.Stats `about:"-"`
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

// OwnCounts implements nic.OwnCounter.
func (d *Device) OwnCounts() []about.Count {
	s := d.Stats()
	return slices.Concat(
		about.Counts("nic", s),
		about.Counts("nic.segments", d.lanes().Stats),
		about.Counts("nic.priority", s.Sockets[wire.LanePriority]),
		about.Counts("nic.data", s.Sockets[wire.LaneData]),
	)
}
