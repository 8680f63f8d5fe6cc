package proto

import "fmt"

// Null reports whether this is the null capability, which stands for none.
func (c *Capability) Null() bool { return c.Issuer == "" && c.Mask == 0 }

func (c Capability) String() string {
	if c.Null() && len(c.Handles) == 0 {
		return "none"
	}
	return fmt.Sprintf("{%q fs=%d until=%d mask=%#x handles=%v signature=%d bytes}",
		c.Issuer, c.FS, unix(c.Timeout), uint32(c.Mask), shorten(c.Handles), len(c.Signature))
}

func (w *writer) capability(c *Capability) {
	w.str(c.Issuer)
	w.fs(c.FS)
	w.skip4()
	w.count(len(c.Signature))
	w.bytes(c.Signature)
	w.align8()
	w.seconds(c.Timeout)
	w.u32(uint32(c.Mask))
	w.count(len(c.Handles))
	w.handles(c.Handles)
	w.align8()
}

func (r *reader) capability(c *Capability) {
	c.Issuer = r.issuer("capability issuer")
	c.FS = FSID(r.i32("capability fs id"))
	r.skip4()
	c.Signature = r.signature("capability signature")
	r.align8()
	c.Timeout = r.seconds("capability timeout")
	c.Mask = OpMask(r.u32("capability mask"))
	c.Handles = r.handles("capability handles", r.count("capability handles", MaxHandles, 8))
	r.align8()
}
