package link

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// MayMessage reports whether a packet may be sent whose credit the peer may withhold:
// EXPECTED, UNEXPECTED, RTS. None may overtake a control packet that waits.
func (l *Link) MayMessage() bool {
	return l.open && l.control.Head() == nil && l.credits.MayMessage()
}

// MayData reports whether a DATA packet may be sent.
func (l *Link) MayData() bool {
	return l.open && l.control.Head() == nil && l.credits.MayControl()
}

// SendNow sends a packet without a descriptor, if that is possible: MayMessage, and the
// NIC has memory for it (nic.DirectPort). The body is head and then body. If it returns
// false, nothing has happened.
func (l *Link) SendNow(kind matchbits.Type, tag, aux uint32, head, body []byte) bool {
	if !l.MayMessage() || l.channel.direct == nil {
		return false
	}
	port := l.channel.direct
	room := port.Claim(wire.HeaderLen + len(head) + len(body))
	if room == nil {
		return false
	}
	l.sendSeq++
	wire.Header{
		Bits: matchbits.Make(kind, l.credits.Spend(), l.theirID, tag),
		Seq:  l.sendSeq,
		Aux:  aux,
	}.Put((*[wire.HeaderLen]byte)(room))
	n := copy(room[wire.HeaderLen:], head)
	if len(body) > 0 {
		copy(room[wire.HeaderLen+n:], body)
	}
	port.Publish()
	return true
}

// Transmit sends a packet now. It needs MayMessage or MayData. done reports that the NIC
// has finished with it; otherwise the packet returns to the pool later. ok is false if
// it was not sent: Resume follows, or the link ends.
func (l *Link) Transmit(p *Packet, kind matchbits.Type, tag, aux uint32) (done, ok bool) {
	done, err := l.post(p, kind, tag, aux)
	if done || err != nil {
		l.channel.links.Give(p)
	}
	if err != nil {
		l.Retry(err)
	}
	return done, err == nil
}

// post gives a packet to the NIC. It writes the header, with returned credits
// and the next sequence number, and spends a credit, which must be there. done reports
// that the NIC has finished with it. If post fails, nothing has changed.
func (l *Link) post(p *Packet, kind matchbits.Type, tag, aux uint32) (done bool, err error) {
	returned := l.credits.Spend()
	wire.Header{
		Bits: matchbits.Make(kind, returned, l.theirID, tag),
		Seq:  l.sendSeq + 1,
		Aux:  aux,
	}.Put((*[wire.HeaderLen]byte)(p.Body))
	d := &p.desc
	d.Op, d.Flags, d.Segments, d.Status = nic.OpSend, 0, p.segs, nic.StatusPending
	done, err = l.channel.vi.PostSend(d)
	if err == nil && done {
		err = failedNow(d.Status)
	}
	if err != nil {
		l.credits.Unspend(returned)
		return false, err
	}
	l.sendSeq++
	if !done {
		l.channel.links.underWay++
	}
	return done, nil
}

// failedNow is the error of a send that ended within its post.
func failedNow(status nic.Status) error {
	switch status {
	case nic.StatusSuccess:
		return nil
	case nic.StatusFlushed, nic.StatusTransportError, nic.StatusNoDescriptor:
		return nic.ErrNotConnected // an event of the link will follow
	}
	return fmt.Errorf("send ended with status %d", status)
}

// finished handles a packet that the NIC finished after its post.
func (ls *Links) finished(p *Packet) {
	op, bytes, err := p.op, p.bytes, p.result()
	if p.desc.Op == nic.OpSend {
		ls.underWay--
	}
	ls.Give(p)
	if op != nil {
		ls.consumer.Finished(op, bytes, err)
	}
}

// result is the error of a packet that the NIC has finished with.
func (p *Packet) result() error {
	switch status := p.desc.Status; status {
	case nic.StatusSuccess:
		return nil
	case nic.StatusFlushed:
		return errFlushed
	case nic.StatusFileError:
		return &FileError{p.desc.FileErr}
	default:
		// Of RDMA: the peer closed its memory, or lied about it.
		return fmt.Errorf("%v ended with status %d", p.desc.Op, status)
	}
}

// A FileError says that the file cannot be read which an RDMA write was to send from.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap is the error of the file.
func (e *FileError) Unwrap() error { return e.Err }

// Await asks for a Resume when a credit comes back.
func (l *Link) Await() { l.waits = true }
