package link

import (
	"errors"
	"os"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/peer"
)

// connEvents handles events of connections. The first n are in ls.events.
func (ls *Links) connEvents(n int) {
	for ; n > 0; n = ls.PollEvents(ls.events[:]) {
		for i := range ls.events[:n] {
			ev := ls.events[i]
			ls.events[i] = vipl.ConnEvent{}
			ls.connEvent(&ev)
		}
	}
}

// connEvent handles what happened to the connection of a VI.
func (ls *Links) connEvent(ev *vipl.ConnEvent) {
	switch {
	case ev.Kind == vipl.EventRequest:
		ls.requested(ev.Request)
		return
	case ev.VI == nil:
		ls.log.Warn("via: error of the NIC", "error", ev.Err)
		return
	}
	c := ev.VI.User.(*channel)
	l := c.link
	if c.closing {
		if ev.Kind == vipl.EventDisconnected || ev.Kind == vipl.EventConnectFailed {
			c.discard()
		}
		return
	}
	switch ev.Kind {
	case vipl.EventConnected:
		ls.consumer.Up(l)
	case vipl.EventConnectFailed:
		l.cause = ev.Err
		ls.consumer.Failed(l, ev.Err)
	case vipl.EventDisconnected:
		l.Break(ev.Err)
	case vipl.EventError:
		ls.log.Warn("via: error of a link", "peer", l.owner, "error", ev.Err)
	}
}

// requested handles a connect request of the NIC.
func (ls *Links) requested(req *vipl.ConnRequest) {
	q := &Request{Host: req.Remote.Host, User: req.User, OtherUser: req.OtherUser, req: req}
	if req.Discriminator != discriminator {
		q.Refuse(peer.ReasonAbsent)
		return
	}
	var err error
	q.Ask, err = wire.ParseLinkReq(req.Private)
	ls.consumer.Requested(q, err)
}

// endBroken closes the links that broke.
func (ls *Links) endBroken() {
	wait := 0 // links that wait a few Polls for the event that says why
	for len(ls.broken) > wait {
		l := ls.broken[wait]
		if l.broken && l.causeWait > 0 && errors.Is(l.cause, errFlushed) && l.channel.vi.State() == vipl.Connected {
			l.causeWait--
			wait++
			continue
		}
		ls.broken = slices.Delete(ls.broken, wait, wait+1)
		if !l.broken {
			continue // the consumer has closed it already
		}
		ls.log.Debug("via: link broke", "peer", l.owner, "error", l.cause)
		ls.consumer.Broke(l, l.cause)
	}
}

// Reason translates an error of Connect, Accept, Failed or Broke. remote is true if the
// other side gave the reason.
func Reason(err error) (reason peer.Reason, remote bool) {
	var rejected *vipl.RejectedError
	switch {
	case errors.As(err, &rejected):
		if len(rejected.Reason) == 1 && rejected.Reason[0] != 0 {
			return peer.Reason(rejected.Reason[0]), true
		}
		return peer.ReasonRefused, true
	case errors.Is(err, vipl.ErrNoMatch), errors.Is(err, nic.ErrUnreachable):
		return peer.ReasonAbsent, false
	case errors.Is(err, nic.ErrKey), errors.Is(err, os.ErrPermission):
		return peer.ReasonRefused, false
	case errors.Is(err, nic.ErrVersion):
		return peer.ReasonVersion, false
	case errors.Is(err, nic.ErrPeerDied):
		return peer.ReasonPeerDied, false
	case errors.Is(err, nic.ErrTimeout), errors.Is(err, vipl.ErrTimeout):
		return peer.ReasonTimeout, false
	case errors.Is(err, nic.ErrProtocol):
		return peer.ReasonProtocol, false
	case errors.Is(err, nic.ErrNotConnected):
		return peer.ReasonLinkLost, false
	case errors.Is(err, ErrResource), errors.Is(err, nic.ErrAgain):
		return peer.ReasonBusy, false
	}
	return peer.ReasonLinkLost, false
}
