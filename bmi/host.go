package bmi

// The functions of this file are for programs that are the Host of a method without an
// endpoint, as the process of a plugin is (package plugins).

// NewHostOp makes an operation for a Host that is not an endpoint. Complete calls done
// with its own arguments. The Host sets the exported fields, and Private to nil, before
// it posts the operation. It may use the operation again once it is complete.
func NewHostOp(done func(op *Op, size int, err error)) *Op {
	op := &Op{done: done}
	op.links.op = op
	return op
}

// NewHostAddr makes an address for a Host that is not an endpoint, to return from its
// NewAddr. Endpoints do not accept it.
func NewHostAddr(p Peer) Addr { return Addr{&addrEntry{peer: p, text: p.String()}} }

// HostPeer is the peer for which NewHostAddr made a. It is nil for an address of an
// endpoint, and for the zero Addr.
func HostPeer(a Addr) Peer {
	if a.e == nil || a.e.in != nil {
		return nil
	}
	return a.e.peer
}
