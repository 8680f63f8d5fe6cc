package udp

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/message"
)

// A buffer is memory for a lent message.
type buffer struct {
	dev   *Device
	mem   []byte
	holds int
	next  *buffer
}

// Take implements message.Buffers.
func (d *Device) Take(n int) (mem []byte, loan message.Loan, ok bool) {
	if n > MTUBytes {
		return nil, nil, false
	}
	b := d.buffers
	if b == nil {
		b = &buffer{dev: d, mem: make([]byte, MTUBytes)}
	} else {
		d.buffers, b.next = b.next, nil
		d.spare--
	}
	b.holds = 1
	d.lent++
	return b.mem[:n:n], b, true
}

// Hold implements message.Loan.
func (b *buffer) Hold() { b.holds++ }

// Free implements message.Loan.
func (b *buffer) Free() {
	if b.holds--; b.holds > 0 {
		return
	}
	d := b.dev
	d.lent--
	if d.spare < sparesMax {
		b.next, d.buffers = d.buffers, b
		d.spare++
	}
}
