package mpi

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

// evenly returns an error unless an operand's elements can be divided evenly among some processes:
// package coll sees only bytes, and would split an element. An err of an earlier check is returned
// unchanged.
func evenly(err error, x operand, processes int) error {
	if err != nil || processes == 0 {
		return err
	}
	if n := elements(&x.Buffer); n%processes != 0 {
		return errclass.New(errclass.Count, "%d elements cannot be divided evenly among %d: each gives or gets as many, unless you take the form of the call with counts", n, processes)
	}
	return nil
}

// evenly is the function evenly for the processes that messages go to and come from. If err is nil,
// c is live.
func (c *Comm) evenly(err error, x operand) error {
	if err != nil {
		return err
	}
	return evenly(nil, x, c.peers)
}
