package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/group"
)

// Free gives the communicator back (MPI_Comm_free; MPI-4.1, 7.4.3). The delete functions of
// its attributes are called first; an error of one of them keeps the communicator. All its
// processes call it. Operations that are under way end as they would.
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

// A Comparison is how two communicators, or groups, are alike (MPI-4.1, 7.3.1 and 7.4.1).
type Comparison = group.Comparison

// What comparing finds. Congruent communicators have the same processes in the same order.
const (
	Ident     = group.Ident
	Congruent = group.Congruent
	Similar   = group.Similar
	Unequal   = group.Unequal
)

// Compare tells how alike two communicators are (MPI_Comm_compare; MPI-4.1, 7.4.1; 7.6.1 for
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
