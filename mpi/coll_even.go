package mpi

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

// evenly makes sure that an operand's elements can be divided among some processes: package
// coll sees bytes, and would divide an element. It comes after another check, whose error it
// hands on.
func evenly(err error, x operand, processes int) error {
	if err != nil || processes == 0 {
		return err
	}
	if n := elements(&x.Buffer); n%processes != 0 {
		return errclass.New(errclass.Count, "%d elements cannot be divided evenly among %d: each gives or gets as many, unless you take the form of the call with counts", n, processes)
	}
	return nil
}

// evenly is evenly among the processes that messages go to and come from, once err has told
// that there is a communicator.
func (c *Comm) evenly(err error, x operand) error {
	if err != nil {
		return err
	}
	return evenly(nil, x, c.peers)
}
