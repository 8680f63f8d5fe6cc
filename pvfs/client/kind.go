package client

import "github.com/viaduct-hpc/viaduct/pvfs/proto"

// The kind of a server. A server of ours removes a file with its datafiles, and tells a client that sends the hint
// proto.HintRemoves. With stock servers the client removes the datafiles by separate requests. The kind is learned from answers.
// It is dropped when a server does not answer, because another one may have its address then.
const (
	kindUnknown int32 = iota
	kindOurs
	kindOther
)

// isOurs reports whether the server of an object is certainly one of ours.
func (c *core) isOurs(object proto.Handle) bool {
	s, err := c.owner(object)
	return err == nil && c.kinds[s].Load() == kindOurs
}

// isOther reports whether the server of an object is certainly not one of ours.
func (c *core) isOther(object proto.Handle) bool {
	s, err := c.owner(object)
	return err == nil && c.kinds[s].Load() == kindOther
}

// heard learns the kind of an object's server from its answer to a request with the hint.
func (c *core) heard(object proto.Handle, mark proto.RemovedMark) {
	s, err := c.owner(object)
	if err != nil {
		return
	}
	if mark == proto.MarkNone {
		c.kinds[s].Store(kindOther)
	} else {
		c.kinds[s].Store(kindOurs)
	}
}
