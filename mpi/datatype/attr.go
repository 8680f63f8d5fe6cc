package datatype

import "github.com/viaduct-hpc/viaduct/mpi/attr"

// A Keyval is the key of an attribute of types; attr.NewKeyval makes one (MPI_Type_create_keyval,
// MPI_Type_free_keyval; MPI-4.1, 7.7.4).
type Keyval = attr.Keyval[*Type]

// SetAttr stores an attribute and replaces its old value (MPI_Type_set_attr; MPI-4.1, 7.7.4). Types
// that are used all over a process, such as the predefined ones, have one set of attributes.
func (t *Type) SetAttr(key *Keyval, value any) error {
	if t == nil {
		return errNil()
	}
	return t.attrs.Put(t, key, value)
}

// Attr returns the value of an attribute, and whether the attribute is set (MPI_Type_get_attr;
// MPI-4.1, 7.7.4).
func (t *Type) Attr(key *Keyval) (value any, ok bool, err error) {
	if t == nil {
		return nil, false, errNil()
	}
	return t.attrs.Get(key)
}

// DeleteAttr removes an attribute (MPI_Type_delete_attr; MPI-4.1, 7.7.4).
func (t *Type) DeleteAttr(key *Keyval) error {
	if t == nil {
		return errNil()
	}
	return t.attrs.Delete(t, key)
}
