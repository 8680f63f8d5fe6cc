package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/attr"
)

// A Keyval is the key of an attribute of communicators; attr.NewKeyval makes one (MPI-4.1, 7.7.2).
type Keyval = attr.Keyval[*Comm]

// SetAttr stores an attribute in this process and replaces its old value (MPI_Comm_set_attr;
// MPI-4.1, 7.7.2).
func (c *Comm) SetAttr(key *Keyval, value any) (err error) {
	defer c.call("MPI_Comm_set_attr", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	return c.parts.attrs.Put(c, key, value)
}

// Attr returns the value of an attribute, and whether the attribute is set (MPI_Comm_get_attr;
// MPI-4.1, 7.7.2).
func (c *Comm) Attr(key *Keyval) (value any, ok bool, err error) {
	defer c.call("MPI_Comm_get_attr", &err)()
	if err := c.checkLive(); err != nil {
		return nil, false, err
	}
	if predefined(key) {
		value, ok = c.p.fact(key)
		return value, ok, nil
	}
	return c.parts.attrs.Get(key)
}

// DeleteAttr removes an attribute (MPI_Comm_delete_attr; MPI-4.1, 7.7.2).
func (c *Comm) DeleteAttr(key *Keyval) (err error) {
	defer c.call("MPI_Comm_delete_attr", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	return c.parts.attrs.Delete(c, key)
}
