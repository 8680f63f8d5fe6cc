package udp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// Where nobody listens, the machine says so (ICMP port unreachable), as a rule. Who
// waits for the answer to an INIT need not wait until it is late then. It is a hint
// and may be forged, so it ends nothing but an attempt that nobody has answered, and
// only if it quotes the nonce of that attempt: whoever knows it could send a REFUSED.

// A probing is what an attempt has to do with that.
type probing struct {
	inits int  // that were sent
	on    bool // it is counted in Device.probing
}

// probe sends an INIT by a socket that hears such a hint, from the second one on: as
// a rule the first is answered before that.
func (c *conn) probe(packet []byte) {
	d := c.dev
	if c.probed.inits++; d.prober == nil || c.answered || c.probed.inits == 1 {
		return
	}
	if !c.probed.on {
		c.probed.on = true
		d.probing++
	}
	d.prober.Probe(d.outs[wire.LanePriority].socket.Addr().Addr(), c.remote[wire.LanePriority], packet)
}

// endProbes: the attempt is over.
func (c *conn) endProbes() {
	if !c.probed.on {
		return
	}
	c.probed.on = false
	if c.dev.probing--; c.dev.probing == 0 {
		c.dev.prober.EndProbes()
	}
}

// hearAbsent takes the hints that came.
func (d *Device) hearAbsent() {
	for {
		var quote [wire.InitFixed]byte
		to, n, ok := d.prober.Absent(quote[:])
		if !ok {
			return
		}
		c := d.conns[binary.LittleEndian.Uint32(quote[4:])]
		if c == nil || c.state != connDialing || c.answered || !c.initiator.Quoted(quote[:n]) {
			d.stats.Stray++
			continue
		}
		c.absent(to)
	}
}

// absent strikes out one of the addresses of the other side's name. Where it was the
// last one, nobody is there.
func (c *conn) absent(at netip.AddrPort) {
	c.addrs = slices.DeleteFunc(slices.Clone(c.addrs), func(other netip.AddrPort) bool { return other == at })
	if len(c.addrs) == 0 {
		c.fail(fmt.Errorf("udp: %s: no process has this port there, says the machine: %w", c.name, nic.ErrUnreachable))
	}
}
