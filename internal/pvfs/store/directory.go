package store

import (
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// AddDirectory makes a directory with one dirdata object, both on this server. It is divided at split entries. handle is that of
// the directory; 0: a new one. EEXIST, ENOSPC.
func (t *Tx) AddDirectory(handle proto.Handle, o Object, split int32) (proto.Handle, error) {
	if handle == 0 {
		var err error
		if handle, err = t.NewHandle(MetaSpace); err != nil {
			return 0, err
		}
	}
	part, err := t.NewHandle(MetaSpace)
	if err == nil && part == handle { // the last free handle; the directory does not exist yet
		err = fault("create", handle, syscall.ENOSPC)
	}
	if err != nil {
		return 0, err
	}
	o.DistDir = proto.DistDir{SplitSize: split, Dirdata: []proto.Handle{part}, Bitmap: []uint32{1}}
	o.Mask |= proto.AttrDistDir
	data := o
	data.Type, data.Parent = proto.TypeDirdata, handle
	if err := t.Insert(part, data); err != nil {
		return 0, err
	}
	return handle, t.Insert(handle, o)
}
