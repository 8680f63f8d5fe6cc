package rma

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

// An Assert is a promise of the program, which may make a call cheaper (MPI-4.1, 12.5.5). Calls that
// take some take any number of them last.
type Assert uint8

// Asserts.
const (
	NoCheck   Assert = iota + 1 // the other side of the synchronisation has begun already; or no other lock conflicts
	NoStore                     // this process's part was not changed by stores since the last synchronisation
	NoPut                       // this process's part will not be changed by others until the next one
	NoPrecede                   // the fence ends no operations of this process
	NoSucceed                   // the fence begins no epoch
)

// String returns the assertion's name.
func (a Assert) String() string {
	switch a {
	case NoCheck:
		return "NoCheck"
	case NoStore:
		return "NoStore"
	case NoPut:
		return "NoPut"
	case NoPrecede:
		return "NoPrecede"
	case NoSucceed:
		return "NoSucceed"
	}
	return "an unknown assertion"
}

// asserts is a set of assertions.
type asserts uint8

// assertsOf returns the set, or an error if one is not for the call.
func assertsOf(all []Assert, allowed ...Assert) (set asserts, err error) {
	for _, a := range all {
		found := false
		for _, ok := range allowed {
			found = found || a == ok
		}
		if !found {
			return 0, errclass.New(errclass.Assert, "the assertion %v (%d) is not for this call", a, uint8(a))
		}
		set |= 1 << a
	}
	return set, nil
}

func (s asserts) has(a Assert) bool { return s&(1<<a) != 0 }
