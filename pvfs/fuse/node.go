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

// A node is an object that the kernel knows. Its inode number is its handle; its name is where the kernel found it last.
type node struct {
	gofs.Inode
	m       *Mount
	changed atomic.Int64       // the mount's count of changes at the last one of this object
	setID   atomic.Bool        // it may have set-id bits
	pages   freshness          // of the bytes that the kernel keeps
	open    map[*file]struct{} // the mount's
}

// change notes that the object was changed, its names if it is a directory.
func (n *node) change() { n.changed.Store(n.m.changes.Add(1)) }

// tell notes attributes that the kernel gets, which were asked for since began (freshness.begin).
func (n *node) tell(info *client.Info, began uint64) (blind bool) {
	n.setID.Store(hasIDs(info))
	return n.pages.give(versionOf(info), time.Now(), began)
}

// tellAndDrop is tell. It also makes the kernel drop the bytes that it keeps of an open file if it cannot see that they are old. It must
// not be called for a request that changes the size of the file: the kernel may wait for the end of that request first.
func (n *node) tellAndDrop(info *client.Info, began uint64) {
	at := time.Now()
	if n.tell(info, began) && info.Attr.Type == proto.TypeMetafile && n.m.uses(n) {
		n.NotifyContent(0, 0) // an error means that the kernel keeps nothing
		n.pages.dropped(versionOf(info), at)
	}
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
