package mpi

import "os"

// The version of the MPI standard that the library implements (MPI_Get_version; MPI-4.1, 9.1.1), and
// a description of the library (MPI_Get_library_version).
const (
	Version        = 4
	Subversion     = 1
	LibraryVersion = "Viaduct MPI, which implements MPI-4.1"
)

// ProcessorName returns the name of the machine that the process runs on, for display
// (MPI_Get_processor_name; MPI-4.1, 9.1.3).
func (p *Process) ProcessorName() (name string, err error) {
	defer p.call("MPI_Get_processor_name", &err)()
	return os.Hostname()
}
