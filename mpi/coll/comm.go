package coll

// A Comm is one collective operation's view of a communicator. Nobody else's
// messages can be mistaken for its own, and messages between a pair of ranks
// arrive in the order of their sends, so that no tags are needed. No operation
// sends to the caller's own rank.
//
// A slice handed to a method is the Comm's until the method returns, that of
// Isend and Irecv until Wait has returned. A Comm is used by one goroutine.
type Comm interface {
	// Rank is the caller's rank, 0 to Size()-1.
	Rank() int
	// Size is the number of ranks.
	Size() int
	// Send returns when b may be used again, which may be long before it was
	// received, or only then.
	Send(to int, b []byte) error
	// Recv receives exactly len(b) bytes; any other length is an error of class
	// errclass.Truncate. A Comm may keep that error for the end of the operation
	// and return nil, so that this rank plays its part to the end and the others
	// do not wait for it.
	Recv(from int, b []byte) error
	// Exchange is Send and Recv at once: ranks that exchange with each other, or
	// in a ring, do not wait for one another for ever.
	Exchange(to int, out []byte, from int, in []byte) error
	// Isend and Irecv begin a Send and a Recv. If they return no error, Wait
	// must be called, once.
	Isend(to int, b []byte) (Pending, error)
	Irecv(from int, b []byte) (Pending, error)
}

// A Pending is a send or receive that was begun.
type Pending interface {
	// Wait returns when the slice is the caller's again.
	Wait() error
}

// A Remote is an operation's view of an inter-communicator: Rank and Size are
// those of the local group, messages go to and come from ranks of the other.
type Remote interface {
	Comm
	// RemoteSize is the number of ranks in the other group, at least 1.
	RemoteSize() int
	// Local is the local group as a communicator of its own. Its messages are
	// never mistaken for those of the other group.
	Local() Comm
}

// What a root argument may be besides a rank (MPI-4.1, 6.2.2).
const (
	// ProcNull is the root for those of the root's group that are not the root,
	// and no neighbour at all in a list of neighbours.
	ProcNull = -2
	// Root is the root for the root itself on an inter-communicator.
	Root = -3
)
