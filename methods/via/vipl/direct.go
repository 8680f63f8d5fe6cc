package vipl

import "github.com/viaduct-hpc/viaduct/methods/via/nic"

// Claim gives the memory that a small message leaves from, which PublishSend then sends. It
// is PostSend of what can be sent at once without a descriptor: nil says that it cannot, and
// nothing has happened. Until PublishSend the NIC must not be used for anything else.
func (vi *VI) Claim(length int) []byte {
	if vi.direct == nil || vi.state != Connected {
		return nil
	}
	return vi.direct.Claim(length)
}

// PublishSend sends what is in the memory of the last Claim, which has not been nil.
func (vi *VI) PublishSend() { vi.direct.Publish() }

// Take is Poll and PostRecv of one small message, without its descriptor, for a consumer whose VIs all complete their receives here: see
// nic.DirectDevice. A nil VI says that there is none; idle, that Poll and PollEvents have nothing either.
func (cq *CQ) Take(to *[nic.InlineMax]byte) (vi *VI, length int, idle bool) {
	n := cq.n
	if n.direct == nil || n.at < n.have || cq.count > 0 || len(n.events) > 0 || n.slow > 0 || n.closed {
		return nil, 0, false
	}
	cookie, length, idle := n.direct.Take(to)
	if cookie == nil {
		return nil, 0, idle
	}
	return cookie.(*VI), length, false
}
