package vipl

import "github.com/viaduct-hpc/viaduct/methods/via/nic"

// Claim returns the memory from which a message is sent, for the caller to fill before
// PublishSend. It is a PostSend without a descriptor. If it returns nil the message needs a
// descriptor, and nothing has happened. The NIC must not be used for anything else between
// Claim and PublishSend.
func (vi *VI) Claim(length int) []byte {
	if vi.direct == nil || vi.state != Connected {
		return nil
	}
	return vi.direct.Claim(length)
}

// PublishSend sends the message in the memory of the last Claim, which must have returned some.
func (vi *VI) PublishSend() { vi.direct.Publish() }

// Take is Poll and PostRecv of one message without its descriptor, for a consumer whose VIs all complete their receives here (see
// nic.DirectDevice). If data is longer than Caps.InlineBytesMax, Return must follow. vi is nil if there is none. idle reports that Poll and
// PollEvents have nothing, either.
func (cq *CQ) Take(to *[nic.InlineMax]byte) (vi *VI, data []byte, idle bool) {
	n := cq.n
	if n.direct == nil || n.at < n.have || cq.count > 0 || len(n.events) > 0 || n.slow > 0 || n.closed {
		return nil, nil, false
	}
	cookie, data, idle := n.direct.Take(to)
	if cookie == nil {
		return nil, nil, idle
	}
	return cookie.(*VI), data, false
}

// Return ends the loan of the last Take.
func (cq *CQ) Return() { cq.n.direct.Return() }
