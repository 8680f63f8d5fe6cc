package fuse

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A node is an object known to the kernel. Its inode number is its handle. Its name is the one by which the kernel last found it.
type node struct {
	gofs.Inode
	m       *Mount
	changed atomic.Int64       // the mount's count of changes at the last change of this object
	setID   atomic.Bool        // it may have set-id bits
	pages   freshness          // the kernel's cache of its data
	open    map[*file]struct{} // protected by the mount's lock
}

// change records that the object was changed; for a directory also its names.
func (n *node) change() { n.changed.Store(n.m.changes.Add(1)) }

// tell records attributes that the kernel gets. They were requested after began (freshness.begin).
func (n *node) tell(info *client.Info, began uint64) (blind bool) {
	n.setID.Store(hasIDs(info))
	return n.pages.give(versionOf(info), time.Now(), began)
}

// tellAndDrop is tell. It also makes the kernel drop cached data of an open file if the kernel cannot notice that they are old.
// Do not call it for a request that changes the size of the file: the kernel may wait for the end of that request first.
func (n *node) tellAndDrop(info *client.Info, began uint64) {
	at := time.Now()
	if n.tell(info, began) && info.Attr.Type == proto.TypeMetafile && n.m.uses(n) {
		n.NotifyContent(0, 0) // an error means that the kernel has no cached data
		n.pages.dropped(versionOf(info), at)
	}
}

// A call is a request on a node.
type call struct {
	context.Context
	fs   *client.FS // for the caller
	path string     // of the node
}

// begin starts a request on the node's name. ESTALE: it has no name any more, and the kernel looks it up again. Call end if there
// is no error.
func (n *node) begin(request context.Context) (c *call, end func(), e syscall.Errno) {
	path, ok := n.path()
	if !ok {
		return nil, nil, syscall.ESTALE
	}
	ctx, end := patient(request)
	return &call{Context: ctx, fs: n.m.view(request), path: path}, end, 0
}

// path is the node's path from the root of the mount.
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

// below is the path of a name in the directory of a call.
func (c *call) below(name string) string {
	if c.path == "/" {
		return "/" + name
	}
	return c.path + "/" + name
}

// child returns the node of an object in this directory, and fills in its attributes.
func (n *node) child(ctx context.Context, info *client.Info, out *gofuse.EntryOut) *gofs.Inode {
	fill(&out.Attr, info)
	stable := gofs.StableAttr{Mode: typeOf(info.Attr.Type), Ino: uint64(info.Handle)}
	child := n.NewInode(ctx, &node{m: n.m}, stable)
	below := child.Operations().(*node)
	below.tellAndDrop(info, below.pages.begin())
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
