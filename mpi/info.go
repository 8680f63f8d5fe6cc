package mpi

import "github.com/viaduct-hpc/viaduct/mpi/info"

// An Info is a set of keys with values, by which programs pass hints to operations (MPI-4.1, 10).
// nil is MPI_INFO_NULL.
type Info = info.Info

// SetInfo sets the communicator's hints and keeps a copy of them (MPI_Comm_set_info; MPI-4.1,
// 7.4.4). No hint changes what the communicator does.
func (c *Comm) SetInfo(hints *Info) (err error) {
	defer c.call("MPI_Comm_set_info", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	c.keepInfo(hints)
	return nil
}

// keepInfo keeps a copy of hints.
func (c *Comm) keepInfo(hints *Info) {
	kept, _ := hints.Dup() // fails only for a nil Info, which needs no copy
	c.parts.info.Store(kept)
}

// Info returns a copy of the communicator's hints, empty if it has none (MPI_Comm_get_info;
// MPI-4.1, 7.4.4).
func (c *Comm) Info() *Info {
	if c != nil {
		if kept := c.parts.info.Load(); kept != nil {
			if dup, err := kept.Dup(); err == nil {
				return dup
			}
		}
	}
	return new(Info)
}
