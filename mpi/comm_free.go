package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/group"
)

// Free releases the communicator (MPI_Comm_free; MPI-4.1, 7.4.3). All its processes must call it.
// Free first calls the delete functions of its attributes; if one returns an error, the
// communicator is not freed. Pending operations complete as usual.
func (c *Comm) Free() (err error) {
	defer c.call("MPI_Comm_free", &err)()
	return c.end()
}

// end is Free without hook and error handler.
func (c *Comm) end() error {
	if err := c.checkLive(); err != nil {
		return err
	}
	if c == c.p.world || c == c.p.self {
		return errclass.New(errclass.Comm, "%v lives as long as its process: Finalize frees it", c)
	}
	if err := c.parts.attrs.DeleteAll(c); err != nil {
		return err
	}
	return c.free()
}

// A Comparison tells how similar two communicators or groups are (MPI-4.1, 7.3.1 and 7.4.1).
type Comparison = group.Comparison

// Results of comparisons. Congruent communicators have the same processes in the same order.
const (
	Ident     = group.Ident
	Congruent = group.Congruent
	Similar   = group.Similar
	Unequal   = group.Unequal
)

// Compare tells how similar two communicators are (MPI_Comm_compare; MPI-4.1, 7.4.1; 7.6.1 for
// inter-communicators).
func (c *Comm) Compare(other *Comm) (result Comparison, err error) {
	defer c.call("MPI_Comm_compare", &err)()
	if err := c.checkLive(); err != nil {
		return Unequal, err
	}
	if err := other.checkLive(); err != nil {
		return Unequal, err
	}
	if c == other {
		return Ident, nil
	}
	if c.IsInter() != other.IsInter() {
		return Unequal, nil
	}
	result, err = group.Compare(c.group, other.group)
	if err == nil && c.IsInter() {
		var remote Comparison
		remote, err = group.Compare(c.remote, other.remote)
		result = max(result, remote)
	}
	if result == Ident {
		result = Congruent
	}
	return result, err
}
