package peertest

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/peer"
)

// link is one connection, or the try to make one, on the NIC level.
type link struct {
	number int
	ends   [2]*end // the side that made it, the side that accepted it (nil until then)
}

// end is one node's half of a link.
type end struct {
	peer       *Peer
	link       *link
	number     peer.Link // the machine's number for it
	id         peer.ID
	generation uint32
	open, up   bool
}

func (e *end) other() *end {
	if e.link.ends[0] == e {
		return e.link.ends[1]
	}
	return e.link.ends[0]
}

// itemKind says what is under way in the network.
type itemKind uint8

const (
	itemRequest itemKind = iota // a link request, to a node by its name
	itemUp                      // the NIC's report that a link is up, failed or down, to an end
	itemFailed
	itemDown
	itemPacket  // a connection packet, from an end to the other one
	itemMessage // an operation's message, likewise
	itemFlush   // the NIC hands an operation back, to the node that posted it
)

// Item is something under way that a command can deliver, lose or repeat.
type Item struct {
	Number int
	// ReadyAt is when it arrives if no command interferes.
	ReadyAt time.Duration

	kind   itemKind
	from   *Node
	to     *Node // nil if gone
	end    *end  // the receiver; for packets and messages the sender
	packet peer.Event
	answer bool // packet: the answer to a keep-alive
	op     *Op
	id     peer.ID // message: as in its match bits
}

// Reliable items are those that a NIC neither loses nor repeats: its reports to
// its own user.
func (it *Item) Reliable() bool { return it.kind == itemFlush || it.kind == itemUp }

// LinkNotice items report the end of a link.
func (it *Item) LinkNotice() bool { return it.kind == itemFailed || it.kind == itemDown }

// Message items carry an operation, and are never repeated.
func (it *Item) Message() bool { return it.kind == itemMessage }

func (it *Item) String() string {
	route := fmt.Sprintf("[%d] %s to %s: ", it.Number, it.from.Name, it.to.Name)
	fromNIC := fmt.Sprintf("[%d] NIC of %s: ", it.Number, it.to.Name)
	switch it.kind {
	case itemRequest:
		return route + fmt.Sprintf("link request, attempt %d", it.packet.Hello.Attempt)
	case itemUp:
		return fromNIC + fmt.Sprintf("link %d up", it.end.number)
	case itemFailed:
		return fromNIC + fmt.Sprintf("link %d failed (%v)", it.end.number, it.packet.Reason)
	case itemDown:
		return fromNIC + fmt.Sprintf("link %d down (%v)", it.end.number, it.packet.Reason)
	case itemMessage:
		return route + fmt.Sprintf("message of %v to id %d", it.op, it.id)
	case itemFlush:
		return fromNIC + fmt.Sprintf("%v handed back", it.op)
	}
	return route + it.packetName()
}

func (it *Item) packetName() string {
	switch it.packet.Kind {
	case peer.EventConnReq:
		return "CONN_REQ, " + helloInShort(it.packet.Hello)
	case peer.EventConnAck:
		return "CONN_ACK, " + helloInShort(it.packet.Hello)
	case peer.EventBye:
		return fmt.Sprintf("BYE (%v)", it.packet.Reason)
	}
	if it.answer {
		return "KEEP_ALIVE answer"
	}
	return "KEEP_ALIVE"
}

func helloInShort(h peer.Hello) string {
	if h.Reason != peer.ReasonNone {
		return fmt.Sprintf("attempt %d is refused (%v)", h.Attempt, h.Reason)
	}
	return fmt.Sprintf("attempt %d, send to me as id %d", h.Attempt, h.PeerID)
}

// latency is how long an item is under way if no command interferes.
const latency = time.Millisecond

func (w *World) send(it Item) *Item {
	w.lastItem++
	it.Number, it.ReadyAt = w.lastItem, w.Now+latency
	w.items = append(w.items, &it)
	w.logf("    %v", &it)
	return &it
}

// notify tells an end what happened to its link.
func (w *World) notify(kind itemKind, from *Node, to *end, why peer.Reason, remote bool) {
	w.send(Item{kind: kind, from: from, to: to.peer.node, end: to,
		packet: peer.Event{Reason: why, Remote: remote}})
}

// Items are what is under way, oldest first. The slice is the caller's.
func (w *World) Items() []*Item { return append([]*Item(nil), w.items...) }

// Item finds an item by its number, nil if it is not under way.
func (w *World) Item(number int) *Item {
	for _, it := range w.items {
		if it.Number == number {
			return it
		}
	}
	return nil
}

func (w *World) take(it *Item) {
	for i := range w.items {
		if w.items[i] == it {
			w.items = append(w.items[:i], w.items[i+1:]...)
			return
		}
	}
}

// Drop loses an item.
func (w *World) Drop(it *Item) {
	w.take(it)
	w.logf("    lost %v", it)
	if it.kind == itemMessage {
		w.sent(it.op)
	}
}

// Dup makes a second copy of an item.
func (w *World) Dup(it *Item) *Item { return w.send(*it) }

// Deliver makes an item arrive.
func (w *World) Deliver(it *Item) {
	w.take(it)
	switch it.kind {
	case itemRequest:
		w.deliverRequest(it)
	case itemUp, itemFailed, itemDown:
		w.deliverNotice(it)
	case itemPacket:
		w.deliverPacket(it)
	case itemMessage:
		w.deliverMessage(it)
	case itemFlush:
		w.handedBack(it.op)
	}
}

func (w *World) deliverRequest(it *Item) {
	l := it.end.link
	if !it.to.Alive {
		w.notify(itemFailed, it.to, it.end, peer.ReasonAbsent, false)
		return
	}
	p := it.to.Peer(it.from.Name)
	p.lastRequest++
	p.requests[p.lastRequest] = l
	ev := it.packet
	ev.Request = p.lastRequest
	w.step(p, ev)
}

func (w *World) deliverNotice(it *Item) {
	e := it.end
	if !e.open || it.kind == itemUp && e.up {
		return
	}
	if it.kind == itemFailed && e.other() != nil {
		return // a copy of the request was refused, but the other one was accepted
	}
	ev := it.packet
	ev.Link = e.number
	switch it.kind {
	case itemUp:
		ev.Kind, e.up = peer.EventLinkUp, true
	case itemFailed:
		ev.Kind = peer.EventLinkFailed
		w.gone(e)
	case itemDown:
		ev.Kind = peer.EventLinkDown
		w.gone(e)
	}
	w.step(e.peer, ev)
}

// deliverPacket also delivers packets of links that the receiver has given up,
// which no NIC would: the machine must recognise them by their link.
func (w *World) deliverPacket(it *Item) {
	to := it.end.other()
	if to == nil || !to.peer.current() {
		return
	}
	if to.open && it.answer {
		to.peer.m.Heard(w.Now)
		return
	}
	ev := it.packet
	ev.Link = to.number
	w.step(to.peer, ev)
}

func (w *World) deliverMessage(it *Item) {
	defer w.sent(it.op)
	to := it.end.other()
	if to == nil || !to.peer.current() {
		return
	}
	if found, ok := to.peer.node.ids.Lookup(it.id); ok && found != to {
		w.violated("%v: id %d now names link %d", it, it.id, found.number)
	}
	if !to.open || !to.peer.m.Ready() {
		return
	}
	to.peer.m.Heard(w.Now)
	if len(to.peer.posted) > 0 {
		op := to.peer.posted[0]
		to.peer.posted = to.peer.posted[1:]
		w.complete(op, peer.ReasonNone, false)
	}
}

// Break ends a link for both its ends.
func (w *World) Break(l *link) {
	for _, e := range l.ends {
		if e != nil && e.open {
			w.notify(itemDown, e.peer.node, e, peer.ReasonLinkLost, false)
		}
	}
}
