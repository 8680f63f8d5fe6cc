package fuse

import (
	"context"
	"os"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

var (
	_ gofs.NodeLookuper  = (*node)(nil)
	_ gofs.NodeMkdirer   = (*node)(nil)
	_ gofs.NodeMknoder   = (*node)(nil)
	_ gofs.NodeSymlinker = (*node)(nil)
	_ gofs.NodeLinker    = (*node)(nil)
	_ gofs.NodeUnlinker  = (*node)(nil)
	_ gofs.NodeRmdirer   = (*node)(nil)
	_ gofs.NodeRenamer   = (*node)(nil)
)

// Flags of renameat2.
const (
	renameNoReplace = 1
)

// Lookup finds a name in the directory.
func (n *node) Lookup(request context.Context, name string, out *gofuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	c, end, e := n.begin(request)
	if e != 0 {
		return nil, e
	}
	defer end()
	return n.find(request, c, name, out)
}

// make makes an object in the directory, and finds it.
func (n *node) make(request context.Context, name string, out *gofuse.EntryOut, do func(c *call, path string) error) (*gofs.Inode, syscall.Errno) {
	if len(name) > proto.MaxName {
		return nil, syscall.ENAMETOOLONG
	}
	c, end, e := n.begin(request)
	if e != 0 {
		return nil, e
	}
	defer end()
	defer n.change()
	if err := do(c, c.below(name)); err != nil {
		return nil, errno(err)
	}
	child, e := n.find(request, c, name, out)
	if e == 0 {
		child.Operations().(*node).change()
	}
	return child, e
}

// Mkdir makes a directory.
func (n *node) Mkdir(request context.Context, name string, mode uint32, out *gofuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	return n.make(request, name, out, func(c *call, path string) error {
		return c.fs.Mkdir(c, path, modeOf(mode))
	})
}

// Mknod makes a file. There are no devices, pipes or sockets.
func (n *node) Mknod(request context.Context, name string, mode, _ uint32, out *gofuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	if t := mode & syscall.S_IFMT; t != syscall.S_IFREG && t != 0 {
		return nil, syscall.EPERM
	}
	return n.make(request, name, out, func(c *call, path string) error {
		f, err := c.fs.OpenFile(c, path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, modeOf(mode))
		if err != nil {
			return err
		}
		return f.CloseCtx(c)
	})
}

// Symlink makes a symlink.
func (n *node) Symlink(request context.Context, target, name string, out *gofuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	return n.make(request, name, out, func(c *call, path string) error {
		return c.fs.Symlink(c, target, path)
	})
}

// Link is refused: the protocol has no hard links.
func (n *node) Link(context.Context, gofs.InodeEmbedder, string, *gofuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

// Unlink removes a name. The client keeps an open object until it is closed.
func (n *node) Unlink(request context.Context, name string) syscall.Errno {
	c, end, e := n.begin(request)
	if e != 0 {
		return e
	}
	defer end()
	defer n.change()
	return errno(c.fs.Unlink(c, c.below(name)))
}

// Rmdir removes an empty directory.
func (n *node) Rmdir(request context.Context, name string) syscall.Errno {
	c, end, e := n.begin(request)
	if e != 0 {
		return e
	}
	defer end()
	defer n.change()
	return errno(c.fs.Rmdir(c, c.below(name)))
}

// Rename renames an entry of the directory.
func (n *node) Rename(request context.Context, name string, to gofs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if flags&^renameNoReplace != 0 {
		return syscall.EINVAL
	}
	if len(newName) > proto.MaxName {
		return syscall.ENAMETOOLONG
	}
	parent, ok := to.(*node)
	if !ok {
		return syscall.EXDEV
	}
	c, end, e := n.begin(request)
	if e != 0 {
		return e
	}
	defer end()
	dir, ok := parent.path()
	if !ok {
		return syscall.ENOENT
	}
	dest := (&call{path: dir}).below(newName)
	if flags&renameNoReplace != 0 {
		_, err := c.fs.LstatCtx(c, dest)
		switch e := errno(err); e {
		case syscall.ENOENT:
		case 0:
			return syscall.EEXIST
		default:
			return e
		}
	}
	defer func() {
		n.change()
		parent.change()
		if child := n.GetChild(name); child != nil {
			child.Operations().(*node).change()
		}
	}()
	return errno(c.fs.Rename(c, c.below(name), dest))
}
