package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestWithin: a transaction for a request reaches the objects that it declares, what they consist of, what their entries name, and what
// it makes. Each use of another object fails and is counted.
func TestWithin(t *testing.T) {
	s := fresh(t)
	object := func(typ proto.ObjType) Object { return Object{Attr: proto.Attr{Type: typ, Mask: proto.AttrCommon}} }
	data, other := create(t, s, DataSpace, proto.TypeDatafile), create(t, s, MetaSpace, proto.TypeMetafile)
	otherPart := create(t, s, MetaSpace, proto.TypeDirdata)
	var dir, part proto.Handle
	require.NoError(t, s.Update(func(tx *Tx) (err error) {
		if dir, err = tx.AddDirectory(0, object(proto.TypeDirectory), 1000); err != nil {
			return err
		}
		d, err := tx.Get(dir)
		if err != nil {
			return err
		}
		part = d.DistDir.Dirdata[0]
		o := object(proto.TypeMetafile)
		o.Datafiles = []proto.Handle{data}
		file, err := tx.Create(MetaSpace, o)
		if err != nil {
			return err
		}
		return tx.Link(part, "file", file)
	}))
	within := func(f func(tx *Tx) error, objects ...proto.Handle) error {
		return s.Update(func(tx *Tx) error { return f(tx.Within(objects)) })
	}
	get := func(h proto.Handle) func(tx *Tx) error {
		return func(tx *Tx) error { _, err := tx.Get(h); return err }
	}
	require.NoError(t, within(func(tx *Tx) error {
		for _, h := range []proto.Handle{dir, part} { // a directory, then its part
			if _, err := tx.Get(h); err != nil {
				return err
			}
		}
		named, err := tx.Lookup(part, "file")
		if err != nil {
			return err
		}
		for _, h := range []proto.Handle{named, data} { // what an entry names, then its part
			if _, err := tx.Get(h); err != nil {
				return err
			}
		}
		made, err := tx.Create(MetaSpace, object(proto.TypeSymlink))
		if err != nil {
			return err
		}
		return tx.Link(part, "made", made)
	}, dir))
	require.Zero(t, s.Stats().Beyond)
	uses := map[string]func(tx *Tx) error{
		"get":        get(other),
		"a part":     get(data), // before the file
		"type":       func(tx *Tx) error { _, err := tx.Type(other); return err },
		"put":        func(tx *Tx) error { return tx.Put(other, object(proto.TypeMetafile)) },
		"delete":     func(tx *Tx) error { return tx.Delete(other) },
		"count":      func(tx *Tx) error { _, err := tx.Dir(otherPart); return err },
		"list":       func(tx *Tx) error { _, _, err := tx.Entries(otherPart, 0, 10); return err },
		"look up":    func(tx *Tx) error { _, err := tx.Lookup(otherPart, "x"); return err },
		"link in":    func(tx *Tx) error { return tx.Link(otherPart, "x", dir) },
		"link to":    func(tx *Tx) error { return tx.Link(part, "x", other) },
		"relink to":  func(tx *Tx) error { _, err := tx.Relink(part, "file", other); return err },
		"unlink":     func(tx *Tx) error { _, err := tx.Unlink(otherPart, "x"); return err },
		"attribute":  func(tx *Tx) error { _, err := tx.Xattr(other, "user.x"); return err },
		"set":        func(tx *Tx) error { return tx.SetXattr(other, "user.x", []byte{1}, XattrAny) },
		"attributes": func(tx *Tx) error { _, _, err := tx.Xattrs(other, 0, 10); return err },
		"all entries": func(tx *Tx) error {
			for _, err := range tx.AllEntries(otherPart) {
				return err
			}
			return nil
		},
	}
	for name, use := range uses {
		before := s.Stats().Beyond
		err := within(use, dir, part)
		require.Equal(t, proto.EACCES, proto.StatusOf(err), "%s: %v", name, err)
		require.Equal(t, before+1, s.Stats().Beyond, name)
	}
}
