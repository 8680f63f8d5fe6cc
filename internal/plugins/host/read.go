package host

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pieces"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// readRecords reads up to most records of the plugin. It reads none while the endpoint leaves too
// many messages.
func (m *Method) readRecords(most int) (did bool) {
	for n := 0; n < most && m.line != nil && !m.rulesBroken && m.kept < keptMax && m.readRecord(); n++ {
		did = true
	}
	return did
}

// readRecord reads one record of the plugin. It returns false if there is none, or if the plugin broke
// the rules.
func (m *Method) readRecord() bool {
	record, ok, err := m.line.In.Next()
	if ok && err == nil {
		err = m.take(record)
	}
	if err != nil {
		m.broken(err)
	}
	return ok && err == nil
}

// take handles a record.
func (m *Method) take(record []byte) error {
	var h wire.Head
	rest, err := h.Parse(record)
	if err != nil {
		return err
	}
	switch h.Kind {
	case wire.KindDone:
		return m.over(&h, rest)
	case wire.KindArrived:
		return m.arrived(&h, rest)
	case wire.KindStranger:
		if h.Flags != wire.FlagText || len(rest) > AddressMax {
			return fmt.Errorf("%w: an address of %d bytes, with flags %#x", wire.ErrInvalid, len(rest), uint8(h.Flags))
		}
		return m.meet(h.Peer, string(rest))
	}
	return fmt.Errorf("%w: %v is for the plugin", wire.ErrInvalid, h.Kind)
}

// over handles the end of an operation.
func (m *Method) over(h *wire.Head, rest []byte) error {
	o := m.ops.find(h.Op)
	if o == nil || o.state != stateWritten {
		return fmt.Errorf("%w: the end of operation %#x, which is not under way", wire.ErrInvalid, h.Op)
	}
	b, size := o.bmi, int(h.Size)
	recv := b.Kind == bmi.KindRecv
	if h.Status != wire.StatusOK {
		return m.failed(o, h, rest)
	}
	var at pieces.Cursor
	inRecord := recv && o.place == placeRecord
	switch {
	case size > o.size || !recv && size != o.size:
		return fmt.Errorf("%w: %d bytes of an operation of %d", wire.ErrInvalid, size, o.size)
	case h.Flags != 0 && (h.Flags != wire.FlagMessage || !inRecord):
		return fmt.Errorf("%w: flags %#x at the end of an operation", wire.ErrInvalid, uint8(h.Flags))
	case inRecord && size != len(rest):
		return fmt.Errorf("%w: a message of %d bytes without them", wire.ErrInvalid, size)
	case inRecord:
		at.Scatter(b.Bufs, rest)
	case recv && o.place == placeStaged:
		at.Scatter(b.Bufs, o.staged[:size])
		m.copied += uint64(size)
	}
	m.finish(o, size, nil)
	return nil
}

// failed ends an operation with an error. Only a message that is longer than its receive may have a
// larger size than the receive. That size is cut to the largest possible here, because the sender's
// limit may be higher.
func (m *Method) failed(o *op, h *wire.Head, rest []byte) error {
	size := int(h.Size)
	if h.Status == wire.StatusTruncated && o.bmi.Kind == bmi.KindRecv {
		size = min(size, max(o.size, m.cfg.Info.MaxExpectedSize))
	} else if size > o.size {
		return fmt.Errorf("%w: %d bytes of a failed operation of %d", wire.ErrInvalid, h.Size, o.size)
	}
	text := ""
	if h.Flags == wire.FlagText {
		text = printable(rest[:min(len(rest), wire.TextMax)])
	}
	m.finish(o, size, h.Status.Err(text))
	return nil
}

// printable makes a text of the plugin safe to show: it replaces control characters.
func printable(text []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(string(text), "?"))
}

// An arrival is an unexpected message that the endpoint did not accept.
type arrival struct {
	class bmi.Class
	tag   bmi.Tag
	data  []byte
}

// arrived passes an unexpected message to the endpoint. It passes a copy: the plugin can write to
// the record at any time, and a handler may end the plugin.
func (m *Method) arrived(h *wire.Head, data []byte) error {
	if h.Flags != wire.FlagMessage || len(data) > m.cfg.Info.MaxUnexpectedSize {
		return fmt.Errorf("%w: an unexpected message of %d bytes", wire.ErrInvalid, len(data))
	}
	p, err := m.peers.find(h.Peer)
	if p == nil {
		return err
	}
	line := m.line
	if m.closed {
		return nil // a handler may still be reading scratch
	}
	m.scratch = append(m.scratch[:0], data...)
	class, tag := bmi.Class(h.Class), bmi.Tag(h.Tag)
	if len(p.kept) == 0 {
		if m.cfg.Host.Arrived(p.addr, class, tag, m.scratch) || p.dropped {
			return nil
		}
		m.keeping = append(m.keeping, p)
	}
	if p.heldAs == 0 && m.line == line { // a handler may have ended the plugin
		m.order(wire.Head{Kind: wire.KindHold, Peer: h.Peer})
		p.heldAs = h.Peer
	}
	// More messages of the peer may be on their way before the plugin reads Hold.
	p.kept = append(p.kept, arrival{class, tag, append([]byte(nil), m.scratch...)})
	m.kept += keptBytes + len(m.scratch)
	return nil
}

// keptBytes is the approximate cost of a message in addition to its bytes.
const keptBytes = 64

// offer offers the endpoint again the messages that it did not accept.
func (m *Method) offer() (did bool) {
	for i := 0; i < len(m.keeping); {
		p := m.keeping[i]
		did = m.offerOf(p) || did
		switch {
		case m.closed: // while a handler ran
			return did
		case len(p.kept) > 0:
			i++
			continue
		}
		m.keeping = append(m.keeping[:i], m.keeping[i+1:]...)
		if !p.dropped && p.heldAs != 0 {
			m.order(wire.Head{Kind: wire.KindGoOn, Peer: p.heldAs})
			p.heldAs = 0
		}
	}
	return did
}

// offerOf is offer for one peer.
func (m *Method) offerOf(p *peer) (did bool) {
	for len(p.kept) > 0 {
		a := p.kept[0]
		if !m.cfg.Host.Arrived(p.addr, a.class, a.tag, a.data) {
			return did
		}
		if did = true; m.closed {
			return did
		}
		if len(p.kept) > 0 { // a handler may have dropped the peer
			m.kept -= keptBytes + len(a.data)
			p.kept[0] = arrival{}
			p.kept = p.kept[1:]
		}
	}
	p.kept = nil
	return did
}
