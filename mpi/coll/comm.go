package coll

// A Comm is one collective operation's view of a communicator. Its messages are
// kept apart from all others, and messages between a pair of ranks arrive in the
// order of their sends, so no tags are needed. No operation sends to the caller's
// own rank.
//
// A slice passed to a method belongs to the Comm until the method returns; for
// Isend and Irecv, until Wait has returned. One goroutine uses a Comm.
type Comm interface {
	// Rank returns the caller's rank, 0 to Size()-1.
	Rank() int
	// Size returns the number of ranks.
	Size() int
	// Machine describes the machine, for example which hosts the ranks are on. It must be the same
	// on all ranks. nil means that nothing is known.
	Machine() *Machine
	// Send returns when b may be used again. That may be long before it is
	// received, or only after.
	Send(to int, b []byte) error
	// Recv receives exactly len(b) bytes; any other length is an error of class
	// errclass.Truncate. A Comm may return nil and report that error at the end of
	// the operation, so that this rank does its part and others do not wait for it.
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
	// Wait returns when the slice belongs to the caller again.
	Wait() error
}

// A Remote is an operation's view of an inter-communicator. Rank and Size are those
// of the local group; messages go to and come from ranks of the other one.
type Remote interface {
	Comm
	// RemoteSize is the number of ranks in the other group, at least 1.
	RemoteSize() int
	// Local returns the local group as a Comm. Its messages are kept apart from
	// those between the groups.
	Local() Comm
}

// Special values of a root argument (MPI-4.1, 6.2.2).
const (
	// ProcNull is the root in the processes of the root's group that are not the
	// root. In a list of neighbours it means no neighbour.
	ProcNull = -2
	// Root is the root in the root itself on an inter-communicator.
	Root = -3
)
