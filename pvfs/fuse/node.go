package fuse

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A node is an object that the kernel knows. Its inode number is its handle; its name is where the kernel found it last.
type node struct {
	gofs.Inode
	m       *Mount
	changed atomic.Int64       // the mount's count of changes at the last one of this object
	setID   atomic.Bool        // it may have set-id bits
	told    atomic.Value       // with a version: of the attributes that the kernel got last
	open    map[*file]struct{} // the mount's
}

// change notes that the object was changed, its names if it is a directory.
func (n *node) change() { n.changed.Store(n.m.changes.Add(1)) }

// A version is what differs if the bytes or the attributes of an object do, as far as whole seconds tell.
type version struct{ size, mtime, ctime int64 }

// tell notes what the kernel gets of the object, and reports whether that is something else than before.
func (n *node) tell(info *client.Info) bool {
	n.setID.Store(hasIDs(info))
	now := version{info.Size(), info.Attr.MTime, info.Attr.CTime}
	return n.told.Swap(now) != now
}

// A call is a request on a node, under way.
type call struct {
	context.Context
	fs   *client.FS // for who asks
	path string     // of the node
}

// begin starts a request on the node's name. ESTALE: it has none any more, and the
// kernel looks again. end must be called if there is no error.
func (n *node) begin(request context.Context) (c *call, end func(), e syscall.Errno) {
	path, ok := n.path()
	if !ok {
		return nil, nil, syscall.ESTALE
	}
	ctx, end := patient(request)
	return &call{Context: ctx, fs: n.m.view(request), path: path}, end, 0
}

// path is the node's name from the top.
func (n *node) path() (string, bool) {
	var names []string
	size := 1
	for at := n.EmbeddedInode(); !at.IsRoot(); {
		name, parent := at.Parent()
		if parent == nil || size > proto.MaxPath {
			return "", false
		}
		names = append(names, name)
		size += len(name) + 1
		at = parent
	}
	var b strings.Builder
	b.Grow(size)
	for i := len(names) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(names[i])
	}
	if b.Len() == 0 {
		return "/", true
	}
	return b.String(), true
}

// below is a name in the directory of a call.
func (c *call) below(name string) string {
	if c.path == "/" {
		return "/" + name
	}
	return c.path + "/" + name
}

// child is the node of an object in this directory, whose attributes it fills in.
func (n *node) child(ctx context.Context, info *client.Info, out *gofuse.EntryOut) *gofs.Inode {
	fill(&out.Attr, info)
	stable := gofs.StableAttr{Mode: typeOf(info.Attr.Type), Ino: uint64(info.Handle)}
	child := n.NewInode(ctx, &node{m: n.m}, stable)
	child.Operations().(*node).tell(info)
	return child
}

// find is child for a name.
func (n *node) find(ctx context.Context, c *call, name string, out *gofuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	info, err := c.fs.LstatCtx(c, c.below(name))
	if err != nil {
		return nil, errno(err)
	}
	return n.child(ctx, info, out), 0
}
