package vipl

import "github.com/viaduct-hpc/viaduct/methods/via/nic"

// Types that the provider interface and this package share.
type (
	// Descriptor is one unit of work: control part, address part, data segments.
	Descriptor = nic.Descriptor
	// Segment is one piece of local memory (the data segment).
	Segment = nic.Segment
	// Remote names memory of the remote side (the address segment).
	Remote = nic.Remote
	// Handle names registered memory.
	Handle = nic.Handle
	// ProtectionTag joins VIs and memory that may be used together.
	ProtectionTag = nic.ProtectionTag
	// Reliability is a VI's reliability level.
	Reliability = nic.Reliability
)

// Reliability levels, lowest first.
const (
	Unreliable        = nic.Unreliable
	ReliableDelivery  = nic.ReliableDelivery
	ReliableReception = nic.ReliableReception
)

// prepare resets a descriptor for its next use. The cookie stays.
func prepare(d *Descriptor, op nic.Op, flags nic.Flags, remote Remote, segs []Segment) *Descriptor {
	d.Op, d.Flags, d.Immediate = op, flags, 0
	d.Remote, d.Segments, d.File = remote, segs, nic.FileRange{}
	d.Status, d.Length, d.Data = nic.StatusPending, 0, nil
	return d
}

// FillSend makes d a send of the segments, in order.
func FillSend(d *Descriptor, segs ...Segment) *Descriptor {
	return prepare(d, nic.OpSend, 0, Remote{}, segs)
}

// FillRecv makes d a receive into the segments, in order.
func FillRecv(d *Descriptor, segs ...Segment) *Descriptor {
	return prepare(d, nic.OpRecv, 0, Remote{}, segs)
}

// FillRecvLoan makes d a receive for which the NIC may lend a buffer of its own
// (d.Data) if its Caps have LoansRecv. Otherwise the message goes into segs, which
// may be empty if the NIC always lends.
func FillRecvLoan(d *Descriptor, segs ...Segment) *Descriptor {
	return prepare(d, nic.OpRecv, nic.FlagLoan, Remote{}, segs)
}

// FillRDMAWrite makes d a write of the segments to remote memory.
func FillRDMAWrite(d *Descriptor, to Remote, segs ...Segment) *Descriptor {
	return prepare(d, nic.OpRDMAWrite, 0, to, segs)
}

// FillRDMARead makes d a read of remote memory into the segments.
func FillRDMARead(d *Descriptor, from Remote, segs ...Segment) *Descriptor {
	return prepare(d, nic.OpRDMARead, 0, from, segs)
}

// SetImmediate adds 32 bits that travel in the descriptor itself.
func SetImmediate(d *Descriptor, value uint32) *Descriptor {
	d.Flags |= nic.FlagImmediate
	d.Immediate = value
	return d
}

// Immediate is the immediate data of a completed receive, if the sender sent any.
func Immediate(d *Descriptor) (value uint32, ok bool) {
	return d.Immediate, d.Flags&nic.FlagImmediate != 0
}

// TotalLength is the number of bytes that the segments hold, or the file range in their place.
func TotalLength(d *Descriptor) int {
	return d.Size()
}

// Err is nil for a descriptor that completed successfully, else its
// DescriptorError. It does not allocate.
func Err(d *Descriptor) error {
	if d.Status == nic.StatusSuccess {
		return nil
	}
	return descriptorErrors[d.Status]
}

// Payload is the message of a completed receive: the NIC's buffer if it lent one,
// else the filled part of the first segment. ok is false if the message lies in
// several segments.
func Payload(d *Descriptor) (data []byte, ok bool) {
	switch {
	case d.Data != nil:
		return d.Data, true
	case d.Length == 0:
		return nil, true
	case len(d.Segments) > 0 && d.Length <= len(d.Segments[0].Data):
		return d.Segments[0].Data[:d.Length], true
	}
	return nil, false
}
