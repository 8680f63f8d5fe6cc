package link

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

func (ls *Links) newChannel(l *Link) (*channel, error) {
	c := &channel{links: ls, link: l}
	if err := c.equip(); err != nil {
		c.discard()
		return nil, err
	}
	return c, nil
}

// equip makes the VI, and posts its receives.
func (c *channel) equip() (err error) {
	ls := c.links
	var ok bool
	if c.id, c.generation, ok = ls.ids.Take(c); !ok {
		return fmt.Errorf("all peer ids are in use")
	}
	if err = c.chooseTag(); err != nil {
		return err
	}
	c.vi, err = ls.CreateVI(vipl.VIAttributes{
		Reliability: ls.reliability,
		Tag:         c.tag,
		RemoteWrite: ls.caps.RDMAWrite,
		RemoteRead:  ls.caps.RDMARead,
		RecvDepth:   ls.depth,
	}, ls.cq, ls.cq)
	if err != nil {
		return err
	}
	ls.vis++
	c.vi.User = c
	c.direct, _ = c.vi.Port().(nic.DirectPort)
	c.recvs = make([]nic.Descriptor, ls.depth)
	mtu := ls.caps.MTUBytes
	if !ls.caps.LoansRecv {
		if c.memory, err = ls.RegisterMem(make([]byte, ls.depth*mtu), vipl.MemAttributes{Tag: c.tag}); err != nil {
			return err
		}
	}
	for i := range c.recvs {
		d := &c.recvs[i]
		if c.memory != nil {
			d.Segments = []nic.Segment{c.memory.Segment(i*mtu, mtu)}
		}
		if err := c.post(d); err != nil {
			return err
		}
	}
	for c.credits = len(c.recvs); c.unposted != nil; c.credits-- {
		c.unposted = c.unposted.Next // never posted, so no credit of the peer's
	}
	if c.credits < wire.CreditsMin {
		return nic.ErrAgain
	}
	return nil
}

// chooseTag gives each channel a protection tag of its own, so that no peer can access
// memory that was opened for another. With a NIC that sends only from registered
// memory, all channels share the send buffers and so one tag.
func (c *channel) chooseTag() (err error) {
	ls := c.links
	if !ls.caps.UnregisteredSend {
		c.tag = ls.tag
		return nil
	}
	c.tag, err = ls.CreatePtag()
	c.ownTag = err == nil
	return err
}

// post posts a receive. If the NIC has no room now, a later Resume tries it.
func (c *channel) post(d *nic.Descriptor) error {
	d.Op, d.Flags, d.Status, d.Length, d.Data = nic.OpRecv, nic.FlagLoan, nic.StatusPending, 0, nil
	err := c.vi.PostRecv(d)
	if errors.Is(err, nic.ErrAgain) {
		d.Next, c.unposted = c.unposted, d
		return nil
	}
	return err
}

// postAgain posts the receives that the NIC had no room for.
func (c *channel) postAgain() {
	l := c.link
	for d := c.unposted; d != nil; d = c.unposted {
		c.unposted = d.Next
		d.Next = nil
		if err := c.post(d); err != nil {
			l.Retry(err)
			return
		}
		if c.unposted == d {
			l.stall()
			return
		}
		l.credits.Owe(false)
	}
}

// close ends the connection. The descriptors come back flushed.
func (c *channel) close() {
	c.links.ids.Give(c.id, c.generation)
	c.closing = true
	if err := c.vi.Disconnect(); err != nil || c.vi.State() == vipl.Idle {
		c.discard() // it was never connected
	}
}

// discard frees a channel that is not used any more, once its descriptors are back.
func (c *channel) discard() {
	ls := c.links
	if !c.closing {
		ls.ids.Give(c.id, c.generation)
	}
	if c.vi != nil {
		ls.vis--
		if err := c.vi.Destroy(); err != nil {
			ls.log.Warn("via: cannot destroy a VI", "peer", c.link.owner, "error", err)
			return
		}
	}
	if c.memory != nil {
		if err := c.memory.Deregister(); err != nil {
			ls.log.Warn("via: cannot deregister receive buffers", "peer", c.link.owner, "error", err)
		}
	}
	if c.ownTag {
		ls.oldTags = append(ls.oldTags, c.tag)
	}
}
