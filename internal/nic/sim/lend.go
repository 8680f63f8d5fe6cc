package simnic

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// loanPoison fills a device buffer that its borrower has returned.
const loanPoison = 0xDB

// A loan is a device buffer that a completed receive lends to the owner of the
// port. The remote side can write to it (Options.PeerWrites) from the moment when
// Poll reports the receive until the descriptor is posted again or the port is
// closed.
type loan struct {
	p     *Port
	d     *nic.Descriptor
	mem   []byte
	shown bool // Poll reported it, or Take took it
	taken bool // by Take; d is nil
}

// lend completes a receive with a buffer of the device.
func (p *Port) lend(d *nic.Descriptor, data []byte) {
	d.Data, d.Shared = slices.Clone(data), true
	p.dev.loans = append(p.dev.loans, loan{p: p, d: d, mem: d.Data})
}

// takeLoan takes back the buffer that a descriptor holds, if it holds one.
func (p *Port) takeLoan(d *nic.Descriptor) {
	p.takeLoans(func(l *loan) bool { return l.d == d })
}

// takeLoans takes back the matching loans of a port.
func (p *Port) takeLoans(match func(*loan) bool) {
	p.dev.loans = slices.DeleteFunc(p.dev.loans, func(l loan) bool {
		if l.p != p || !match(&l) {
			return false
		}
		for i := range l.mem {
			l.mem[i] = loanPoison
		}
		return true
	})
}

// enter begins a call of the device's owner. Memory lent to the owner earlier may
// change now.
func (d *Device) enter() {
	d.w.enter()
	for i := range d.loans {
		if l := &d.loans[i]; l.shown && d.w.sim.Chance(d.w.opts.PeerWrites) {
			d.w.overwrite(l.mem)
		}
	}
}

// overwrite changes every byte of a random part of mem. Half of the time the part
// starts at the beginning, where headers are.
func (w *World) overwrite(mem []byte) {
	rng, from := w.sim.Rand(), 0
	if rng.IntN(2) == 0 {
		from = rng.IntN(len(mem))
	}
	to := from + 1 + rng.IntN(len(mem)-from)
	change := byte(1 + rng.IntN(255))
	for i := from; i < to; i++ {
		mem[i] ^= change
	}
}

// show returns how many of the oldest events Poll may report, at most limit, and
// records which loans the owner sees. If lent memory can change, a loan is
// reported alone, so that the owner has read it before it calls the device
// because of another event.
func (d *Device) show(limit int) int {
	n := min(limit, len(d.events))
	if d.w.opts.PeerWrites == 0 {
		return n
	}
	for i := range n {
		if l := d.lentBy(&d.events[i]); l != nil {
			if i > 0 {
				return i
			}
			l.shown = true
			return 1
		}
	}
	return n
}

// lentBy is the loan of a completed receive; nil if there is none.
func (d *Device) lentBy(ev *nic.Event) *loan {
	if ev.Kind != nic.EventRecv {
		return nil
	}
	i := slices.IndexFunc(d.loans, func(l loan) bool { return l.d == ev.Desc })
	if i < 0 {
		return nil
	}
	return &d.loans[i]
}
