package fuse

import (
	"context"
	"strings"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

var (
	_ gofs.NodeGetxattrer    = (*node)(nil)
	_ gofs.NodeSetxattrer    = (*node)(nil)
	_ gofs.NodeRemovexattrer = (*node)(nil)
	_ gofs.NodeListxattrer   = (*node)(nil)
)

// userSpace begins the names of the supported attributes. The kernel asks for others (security, ACLs) all the time; those
// requests do not go to the servers.
const userSpace = "user."

// Getxattr returns the value of an attribute.
func (n *node) Getxattr(request context.Context, name string, dest []byte) (uint32, syscall.Errno) {
	if !strings.HasPrefix(name, userSpace) {
		return 0, syscall.ENODATA
	}
	c, end, e := n.begin(request)
	if e != 0 {
		return 0, e
	}
	defer end()
	value, err := c.fs.GetXattr(c, c.path, name)
	if err != nil {
		return 0, errno(err)
	}
	return give(dest, value)
}

// give copies a value into a program's buffer, or returns the size that it needs.
func give(dest, value []byte) (uint32, syscall.Errno) {
	if len(dest) < len(value) {
		return uint32(len(value)), syscall.ERANGE
	}
	return uint32(copy(dest, value)), 0
}

// Setxattr sets an attribute.
func (n *node) Setxattr(request context.Context, name string, value []byte, flags uint32) syscall.Errno {
	if !strings.HasPrefix(name, userSpace) {
		return syscall.EOPNOTSUPP
	}
	if len(value) > proto.MaxXattrValue {
		return syscall.E2BIG
	}
	c, end, e := n.begin(request)
	if e != 0 {
		return e
	}
	defer end()
	return errno(c.fs.SetXattr(c, c.path, name, value, int(flags)))
}

// Removexattr removes an attribute.
func (n *node) Removexattr(request context.Context, name string) syscall.Errno {
	if !strings.HasPrefix(name, userSpace) {
		return syscall.ENODATA
	}
	c, end, e := n.begin(request)
	if e != 0 {
		return e
	}
	defer end()
	return errno(c.fs.RemoveXattr(c, c.path, name))
}

// Listxattr lists the attributes' names.
func (n *node) Listxattr(request context.Context, dest []byte) (uint32, syscall.Errno) {
	if n.Mode() == syscall.S_IFLNK {
		return 0, 0 // the client would follow the symlink
	}
	c, end, e := n.begin(request)
	if e != 0 {
		return 0, e
	}
	defer end()
	keys, err := c.fs.ListXattr(c, c.path)
	if err != nil {
		return 0, errno(err)
	}
	var list []byte
	for _, key := range keys {
		if strings.HasPrefix(key, userSpace) {
			list = append(append(list, key...), 0)
		}
	}
	return give(dest, list)
}
