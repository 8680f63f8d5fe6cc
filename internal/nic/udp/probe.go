package udp

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/fault"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// If no process listens at an address, the machine usually says so (ICMP port
// unreachable). An attempt to connect then need not wait for its timeout. The message
// is a hint and may be forged. So it ends only an attempt that has had no answer at
// all, and only if it quotes the nonce of that attempt: an attacker that knows the
// nonce could send a REFUSED as well.

// A probing is the state of an attempt with regard to such hints.
type probing struct {
	inits int  // number sent
	on    bool // it is counted in Device.probing
}

// probe sends an INIT through a socket that receives such hints, from the second INIT
// on: the first is usually answered before that.
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

// endProbes is called when the attempt is over.
func (c *conn) endProbes() {
	if !c.probed.on {
		return
	}
	c.probed.on = false
	if c.dev.probing--; c.dev.probing == 0 {
		c.dev.prober.EndProbes()
	}
}

// hearAbsent handles the hints that arrived.
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

// absent removes one of the addresses of the other side's name. If it was the last
// one, the other side is unreachable.
func (c *conn) absent(at netip.AddrPort) {
	c.addrs = slices.DeleteFunc(slices.Clone(c.addrs), func(other netip.AddrPort) bool { return other == at })
	if len(c.addrs) == 0 {
		c.fail(fault.Markf(nic.ErrUnreachable, "no process has this port there, says the machine"))
	}
}
