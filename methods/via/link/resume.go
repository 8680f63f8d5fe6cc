package link

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

// Await asks for a Resume when a credit comes back.
func (l *Link) Await() { l.waits = true }

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
		l.channel.links.stalled = append(l.channel.links.stalled, l)
	}
}

// resume continues what was waiting for room in the NIC or for credits.
func (l *Link) resume() (did bool) {
	l.stalled = false
	c := l.channel
	if c == nil {
		return false
	}
	before := l.sendSeq
	if c.unposted != nil {
		c.postAgain()
	}
	if l.sendWaiting() {
		l.waits = false
		c.links.consumer.Resume(l)
	}
	l.returnCredits()
	return l.sendSeq != before
}

// Unfinished reports whether Resume has something to do.
func (ls *Links) Unfinished() bool { return len(ls.stalled)+len(ls.oldTags) > 0 }

// Restless reports whether a Poll is due although nothing may arrive.
func (ls *Links) Restless() bool { return len(ls.broken)+len(ls.stalled) > 0 }

// Resume continues what earlier calls had to leave.
func (ls *Links) Resume() (did bool) {
	again := ls.stalled
	ls.stalled = ls.stalledNext[:0]
	for _, l := range again {
		did = l.resume() || did
	}
	clear(again)
	ls.stalledNext = again[:0]
	if len(ls.oldTags) > 0 {
		ls.dropTags()
	}
	return did
}

// dropTags destroys the protection tags whose memory is withdrawn by now.
func (ls *Links) dropTags() {
	keep := ls.oldTags[:0]
	for _, tag := range ls.oldTags {
		if ls.DestroyPtag(tag) != nil {
			keep = append(keep, tag)
		}
	}
	ls.oldTags = keep
}
