package link

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

// causeWaitPolls is how many Polls to wait for the event that says why a link
// ended, once its descriptors have come back.
const causeWaitPolls = 64

// errFlushed: a descriptor came back because the link ended. An event will say why.
var errFlushed = errors.New("the connection ended")

// Break notes that a link gave an error. Nothing more is sent over it. The next Poll
// closes it, and not this call, because the caller may be using an operation that fails
// with it.
func (l *Link) Break(err error) {
	if l.channel == nil {
		return
	}
	if l.broken {
		if errors.Is(l.cause, errFlushed) {
			l.cause = err // it says why
		}
		return
	}
	l.broken, l.open = true, false
	l.cause, l.causeWait = err, causeWaitPolls
	l.channel.links.broken = append(l.channel.links.broken, l)
	l.channel.links.consumer.PollSoon()
}

// Full reports whether an error means that the NIC has no room now.
func Full(err error) bool { return errors.Is(err, nic.ErrAgain) }

// Retry handles an error of the NIC. If it had no room, Resume follows. If the link
// ended, an event will follow, after all that the peer sent before. Any other error
// means that the link is broken.
func (l *Link) Retry(err error) {
	switch {
	case Full(err):
		l.stall()
	case errors.Is(err, nic.ErrNotConnected), errors.Is(err, vipl.ErrInvalidState):
		l.open = false
	default:
		l.Break(err)
	}
}

// stall lets the next Resume look at the link.
func (l *Link) stall() {
	if !l.stalled {
		l.stalled = true
		l.channel.links.stalled.Add(l)
	}
}
