package client

import "github.com/viaduct-hpc/viaduct/pvfs/proto"

// What is known of a server. A server of ours removes a file with its datafiles, and says so to who sends the hint
// proto.HintRemoves; with others the client does it by requests of their own. It is learned from answers, and forgotten when
// a server does not answer: another may have its address then.
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

// isOther reports whether the server of an object is certainly none of ours.
func (c *core) isOther(object proto.Handle) bool {
	s, err := c.owner(object)
	return err == nil && c.kinds[s].Load() == kindOther
}

// heard takes what the server of an object answered to a request with the hint.
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
