package link

import (
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// SendControl sends a control packet, or keeps it until that is possible. Packets keep
// their order.
func (l *Link) SendControl(p *Packet, kind matchbits.Type, tag, aux uint32) {
	p.kind, p.tag, p.aux = kind, tag, aux
	p.whole()
	if l.control.Head() != nil || !l.mayControl(p) {
		l.control.Push(p)
		return
	}
	if err := l.transmitControl(p); err != nil {
		l.retryControl(p, err)
	}
}

// mayControl reports whether a control packet may be sent now: after the handshake, or as part of it. Each side has a credit for
// the handshake.
func (l *Link) mayControl(p *Packet) bool {
	if p.kind.Connects() {
		return l.channel != nil && !l.broken && l.credits.MayCredit()
	}
	return l.open && l.credits.MayControl()
}

// sendWaiting sends the control packets that wait, and reports whether none does any
// more.
func (l *Link) sendWaiting() bool {
	for p := l.control.Head(); p != nil; p = l.control.Head() {
		if !l.mayControl(p) {
			return false
		}
		if err := l.transmitControl(l.control.Pop()); err != nil {
			l.retryControl(p, err)
			return false
		}
	}
	return true
}

// transmitControl sends a control packet now. It returns to the pool when the NIC
// has finished with it.
func (l *Link) transmitControl(p *Packet) error {
	done, err := l.post(p, p.kind, p.tag, p.aux)
	if done {
		l.channel.links.Give(p)
	}
	return err
}

// retryControl puts a control packet that the NIC had no room for back at the head
// of the queue. If the link failed, it discards the packet.
func (l *Link) retryControl(p *Packet, err error) {
	if Full(err) {
		l.control.PutBack(p)
	} else {
		l.channel.links.Give(p)
	}
	l.Retry(err)
}

// SendBare sends a packet without a body if that is possible now. Later it would
// be useless.
func (l *Link) SendBare(kind matchbits.Type, aux uint32) {
	if l.channel == nil || !l.credits.MayCredit() ||
		kind == matchbits.TypeKeepAlive && (l.connecting() || !l.credits.MayControl()) {
		return
	}
	p := l.channel.links.Take()
	p.kind, p.tag, p.aux = kind, 0, aux
	p.whole()
	if err := l.transmitControl(p); err != nil {
		l.channel.links.Give(p)
		l.channel.links.log.Debug("via: packet not sent", "peer", l.owner, "type", kind, "error", err)
	}
}

// sendCredits returns all owed credits in a CREDIT packet.
func (l *Link) sendCredits() {
	p := l.channel.links.Take()
	p.whole()
	n := l.credits.TakeAll()
	if _, ok := l.Transmit(p, matchbits.TypeCredit, 0, wire.Credit{Credits: n}.Aux()); ok {
		l.creditsSent++
	} else {
		l.credits.PutBack(n)
	}
}

// Withholds reports whether credits of the peer are withheld.
func (l *Link) Withholds() bool { return l.credits.Withholds() }

// Release gives the peer the credits that were withheld.
func (l *Link) Release() {
	if l.credits.Release() {
		l.returnCredits()
	}
}

// returnCredits sends the owed credits to the peer in a CREDIT packet, if that is possible now. It may overtake packets that wait for
// credits, but not the end of the handshake, which the peer waits for.
func (l *Link) returnCredits() {
	if l.open && l.credits.MayCredit() && !l.connecting() {
		l.sendCredits()
	}
}

// connecting reports whether a packet of the handshake waits for room in the NIC.
func (l *Link) connecting() bool {
	head := l.control.Head()
	return head != nil && head.kind.Connects()
}
