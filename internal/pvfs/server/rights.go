package server

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// rightsTo is an object as decisions see it, without its access control list.
func rightsTo(o *store.Object) rights.Object { return rightsToAttr(&o.Attr) }

func rightsToAttr(a *proto.Attr) rights.Object {
	return rights.Object{Type: a.Type, Owner: a.Owner, Group: a.Group, Mode: a.Perms}
}

// rightsOf is what a user may do with an object.
func rightsOf(tx *store.Tx, h proto.Handle, a *proto.Attr, who rights.Identity) (proto.OpMask, error) {
	o := rightsToAttr(a)
	if !who.Root() && a.Type != proto.TypeSymlink {
		acl, err := tx.Xattr(h, rights.ACLName)
		if err != nil && proto.StatusOf(err) != proto.ENODATA {
			return 0, err
		}
		o.ACL = acl
	}
	return rights.Of(o, who), nil
}

// openData opens a datafile for a query that may use it. It is the only way to a file's bytes, so it also ends a mode that a write
// ends. EACCES: the datafile belongs to another metafile than the one of the capability. Servers are not checked, and no one is if
// nothing is signed.
func (s *Server) openData(q *query, h proto.Handle, writes bool) (*store.Data, error) {
	var metafile proto.Handle
	if q.Shows.Proof == rights.Client && s.signs() {
		if is := q.Shows.Handles[0]; !s.fs.IsData(is) { // giveCapability lists the object itself first
			metafile = is
		}
	}
	data, err := s.store.OpenDataOf(h, metafile, writes)
	if err != nil || !writes {
		return data, err
	}
	if err := s.beforeWrite(q); err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return data, nil
}
