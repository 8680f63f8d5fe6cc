package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/attr"
)

// A Keyval is the key of an attribute of communicators (MPI-4.1, 7.7.2).
type Keyval = attr.Keyval[*Comm]

// NewKeyval makes a key (MPI_Comm_create_keyval; MPI-4.1, 7.7.2). Dup calls copied for the
// attribute of the old communicator. If copied is nil, the new communicator does not get the
// attribute (MPI_COMM_NULL_COPY_FN); with KeepAttr it gets the same value (MPI_COMM_DUP_FN).
// deleted may be nil.
func NewKeyval(copied attr.CopyFunc[*Comm], deleted attr.DeleteFunc[*Comm]) *Keyval {
	return attr.NewKeyval(copied, deleted)
}

// KeepAttr is a copy function for NewKeyval: the duplicate gets the same value.
func KeepAttr(c *Comm, key *Keyval, value any) (any, bool, error) {
	return attr.KeepValue(c, key, value)
}

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
