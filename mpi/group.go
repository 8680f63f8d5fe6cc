package mpi

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/group"
)

// A Group is an ordered set of processes (MPI-4.1, 7.3). Its methods, and the functions of
// package mpi/group, make new ones of it.
type Group = group.Group[*core.Proc]

// A Range is a set of ranks at equal distances, for Group.RangeIncl.
type Range = group.Range

// Group returns the group of the communicator's processes; for an inter-communicator, the local
// group (MPI_Comm_group; MPI-4.1, 7.3.2). It returns nil for a nil Comm.
func (c *Comm) Group() *Group {
	if c == nil {
		return nil
	}
	return c.group
}

// RemoteGroup returns the remote group of an inter-communicator, and nil for any other
// (MPI_Comm_remote_group; MPI-4.1, 7.6.1).
func (c *Comm) RemoteGroup() *Group {
	if c == nil {
		return nil
	}
	return c.remote
}
