package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/group"
)

// A Group is an ordered set of processes (MPI-4.1, 7.3). Its methods, and the functions of
// package mpi/group, make new ones of it.
type Group = group.Group[*core.Proc]

// A Range is a set of ranks at equal distances, for Group.RangeIncl.
type Range = group.Range

// EmptyGroup returns the group without processes (MPI_GROUP_EMPTY).
func EmptyGroup() *Group { return group.Empty[*core.Proc]() }

// Union returns the processes of a, then those of b that are not in a (MPI_Group_union; MPI-4.1,
// 7.3.2).
func Union(a, b *Group) (*Group, error) { return group.Union(a, b) }

// Intersection returns the processes of a that are also in b (MPI_Group_intersection; MPI-4.1,
// 7.3.2).
func Intersection(a, b *Group) (*Group, error) { return group.Intersection(a, b) }

// Difference returns the processes of a that are not in b (MPI_Group_difference; MPI-4.1, 7.3.2).
func Difference(a, b *Group) (*Group, error) { return group.Difference(a, b) }

// CompareGroups tells how similar two groups are (MPI_Group_compare; MPI-4.1, 7.3.1).
func CompareGroups(a, b *Group) (Comparison, error) { return group.Compare(a, b) }

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
