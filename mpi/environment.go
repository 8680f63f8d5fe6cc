package mpi

import (
	"fmt"
	"os"
	"time"
)

// A ThreadLevel says which goroutines call into the library (MPI-4.1, 11.6.2).
type ThreadLevel int

// Thread levels, in ascending order.
const (
	ThreadSingle     ThreadLevel = iota // MPI_THREAD_SINGLE
	ThreadFunneled                      // MPI_THREAD_FUNNELED
	ThreadSerialized                    // MPI_THREAD_SERIALIZED
	ThreadMultiple                      // MPI_THREAD_MULTIPLE
)

// String is the standard's name of the level.
func (l ThreadLevel) String() string {
	names := [...]string{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"}
	if l < 0 || int(l) >= len(names) {
		return fmt.Sprintf("ThreadLevel(%d)", int(l))
	}
	return names[l]
}

// ThreadLevel returns which goroutines may call the library (MPI_Query_thread; MPI-4.1, 11.6.2). It
// is always ThreadMultiple: any goroutine at any time. Because goroutines move between threads,
// there is no main thread (MPI_Is_thread_main).
func (p *Process) ThreadLevel() ThreadLevel { return ThreadMultiple }

// The version of the MPI standard that the library implements (MPI_Get_version; MPI-4.1, 9.1.1).
const (
	Version    = 4
	Subversion = 1
)

// LibraryVersion describes the library (MPI_Get_library_version; MPI-4.1, 9.1.1).
func LibraryVersion() string {
	return fmt.Sprintf("Viaduct MPI, which implements MPI-%d.%d", Version, Subversion)
}

// ProcessorName returns the name of the machine that the process runs on, for display
// (MPI_Get_processor_name; MPI-4.1, 9.1.3).
func (p *Process) ProcessorName() (name string, err error) {
	defer p.call("MPI_Get_processor_name", &err)()
	return os.Hostname()
}

// epoch is the time that Wtime counts from.
var epoch = time.Now()

// Wtime returns the time in seconds since a fixed moment in the past, which is the same for the
// whole life of this process (MPI_Wtime; MPI-4.1, 9.6).
func Wtime() float64 { return time.Since(epoch).Seconds() }

// Wtick returns the resolution of Wtime in seconds (MPI_Wtick; MPI-4.1, 9.6).
func Wtick() float64 { return time.Nanosecond.Seconds() }
