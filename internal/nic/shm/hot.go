package shm

import "sync/atomic"

// makeHot makes an open connection hot: Poll checks its slots.
func (d *Device) makeHot(c *conn) {
	c.idleLooks = 0
	if c.hotIndex < 0 {
		c.hotIndex = len(d.hot)
		d.hot = append(d.hot, c)
	}
	c.cold = false
	if d.armed {
		c.wantBell()
	} else {
		c.polling()
	}
	d.setCosts()
}

// dropHot makes a connection no longer hot.
func (d *Device) dropHot(c *conn) {
	if c.hotIndex < 0 {
		return
	}
	last := len(d.hot) - 1
	d.hot[c.hotIndex] = d.hot[last]
	d.hot[c.hotIndex].hotIndex = c.hotIndex
	d.hot[last] = nil
	d.hot = d.hot[:last]
	c.hotIndex = -1
	c.cold = true
	d.setCosts()
}

// makeCold makes an idle connection wait for its doorbell.
func (d *Device) makeCold(c *conn) {
	c.wantBell()
	h := atomic.LoadUint64(c.header)
	if uint16(h>>stampShift) == c.stamp {
		c.polling() // a message came just now
		return
	}
	if !slotIsOld(h, c.received) {
		c.breakRules("a slot header out of turn")
		return
	}
	d.stats.Cooled++
	d.dropHot(c)
}

// wantBell asks the other side to ring for its next message. The swap is a full
// fence, as in publish: the caller's next load of the slot sees everything that
// was written before the other side could see the request.
func (c *conn) wantBell() {
	c.bellCount++
	atomic.SwapUint64(c.ourBell, c.bellCount<<1|1)
}

func (c *conn) polling() { atomic.StoreUint64(c.ourBell, c.bellCount<<1) }

// arrived reports whether the next message is there.
func (c *conn) arrived() bool {
	return uint16(atomic.LoadUint64(c.header)>>stampShift) == c.stamp
}

// setCosts decides how often empty Polls check the sockets.
func (d *Device) setCosts() {
	switch {
	case len(d.timed) > 0:
		d.emptyCost = pollGreetCost
	case len(d.hot) == 0:
		d.emptyCost = pollColdCost
	default:
		d.emptyCost = pollEmptyCost
	}
}
