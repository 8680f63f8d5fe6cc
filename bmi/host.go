package bmi

// What follows is for programs that are Host to a method without an endpoint, as the
// process of a plugin is (package plugins).

// NewHostOp makes an operation of a Host that is no endpoint. done is what Complete
// calls; size and err are Complete's. The Host sets the exported fields before it posts
// the operation, with Private nil, and may use it again once it is complete.
func NewHostOp(done func(op *Op, size int, err error)) *Op { return &Op{done: done} }

// NewHostAddr makes an address of a Host that is no endpoint, for its NewAddr. No
// endpoint takes it.
func NewHostAddr(p Peer) Addr { return Addr{&addrEntry{peer: p, text: p.String()}} }

// HostPeer is the peer that a was made for by NewHostAddr; nil for an address of an
// endpoint, and for the zero Addr.
func HostPeer(a Addr) Peer {
	if a.e == nil || a.e.in != nil {
		return nil
	}
	return a.e.peer
}
