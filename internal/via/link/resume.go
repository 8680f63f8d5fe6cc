package link

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
func (ls *Links) Unfinished() bool { return ls.stalled.Len()+len(ls.oldTags) > 0 }

// Restless reports whether a Poll is due although nothing may arrive.
func (ls *Links) Restless() bool { return len(ls.broken)+ls.stalled.Len() > 0 }

// Resume continues what earlier calls had to leave.
func (ls *Links) Resume() (did bool) {
	ls.stalled.Each(func(l *Link) { did = l.resume() || did })
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
