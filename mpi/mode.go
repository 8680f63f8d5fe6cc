package mpi

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Mode says how a call works that may work in several ways. Calls take any number of them last.
type Mode uint8

// Modes of sends (MPI-4.1, 3.4), and of all calls that return a Request.
const (
	// Synchronous sends do not end before the receive has begun (MPI_Ssend).
	Synchronous Mode = iota + 1
	// Ready sends are for receives that are posted already, as the caller knows (MPI_Rsend). If it
	// is not, the send works as any other.
	Ready
	// Buffered sends copy the message into the buffer of AttachBuffer, and end (MPI_Bsend). If there
	// is none, or it has too little space, the error has class ErrBuffer.
	Buffered
	// Persistent operations do not begin: they are prepared, and Request.Start begins them, as often
	// as needed (MPI_Send_init, MPI_Bcast_init and so on; MPI-4.1, 3.9 and 6.13).
	Persistent
)

// name returns the mode's name, for errors.
func (m Mode) name() string {
	switch m {
	case Synchronous:
		return "Synchronous"
	case Ready:
		return "Ready"
	case Buffered:
		return "Buffered"
	case Persistent:
		return "Persistent"
	}
	return "an unknown mode"
}

// sendMode returns the mode of a send that ends before the call returns.
func sendMode(how []Mode) (core.Mode, error) {
	mode, persistent, err := sendModes(how)
	if err == nil && persistent {
		err = errPersistent
	}
	return mode, err
}

var errPersistent = errclass.New(errclass.Arg, "a blocking call cannot be persistent: take the form that returns a Request")

// sendModes returns the mode of a send, and whether it is persistent.
func sendModes(how []Mode) (mode core.Mode, persistent bool, err error) {
	mode = core.Standard
	for _, m := range how {
		to := core.Standard
		switch m {
		case Synchronous:
			to = core.Synchronous
		case Ready:
			to = core.Ready
		case Buffered:
			to = core.Buffered
		case Persistent:
			persistent = true
			continue
		default:
			return mode, persistent, badMode(m)
		}
		if mode != core.Standard && mode != to {
			return mode, persistent, errclass.New(errclass.Arg, "a send has one of the modes Synchronous, Ready and Buffered, not several")
		}
		mode = to
	}
	return mode, persistent, nil
}

// onlyPersistent tells whether an operation other than a send is persistent.
func onlyPersistent(how []Mode) (bool, error) {
	for _, m := range how {
		if m != Persistent {
			return false, badMode(m)
		}
	}
	return len(how) > 0, nil
}

func badMode(m Mode) error {
	return errclass.New(errclass.Arg, "the mode %s (%d) is not for this call", m.name(), m)
}
