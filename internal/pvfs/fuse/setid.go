package fuse

import (
	"context"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The set-id bits of a file are cleared when a user other than root writes to it or truncates it, and when its owner or group
// changes. The kernel leaves that to this package (CAP_HANDLE_KILLPRIV_V2). Otherwise it would request an extended attribute
// before each write.

// withoutIDs is a mode without these bits. A set-group-id bit has another meaning if the group may not execute.
func withoutIDs(perms uint32) uint32 {
	perms &^= syscall.S_ISUID
	if perms&syscall.S_IXGRP != 0 {
		perms &^= syscall.S_ISGID
	}
	return perms
}

// hasIDs reports whether an object has such bits.
func hasIDs(info *client.Info) bool {
	return info.Attr.Type == proto.TypeMetafile && withoutIDs(info.Attr.Perms) != info.Attr.Perms
}

// beforeWrite clears the set-id bits of a file that its caller is about to change, through an open file if there is one.
func (n *node) beforeWrite(request context.Context, h gofs.FileHandle) syscall.Errno {
	if c, ok := gofuse.FromContext(request); !n.setID.Load() || !ok || c.Uid == 0 {
		return 0
	}
	t, end, e := n.target(request, h)
	if e != 0 {
		return e
	}
	defer end()
	return t.dropIDs(n)
}

// dropIDs clears the set-id bits as the user that mounted, because the caller may not be the owner.
func (t target) dropIDs(n *node) syscall.Errno {
	info, err := t.stat()
	if err != nil {
		return errno(err)
	}
	if !hasIDs(info) {
		n.setID.Store(false)
		return 0
	}
	t.by = n.m.fsys
	if err := t.chmod(modeOf(withoutIDs(info.Attr.Perms))); err != nil {
		return errno(err)
	}
	n.setID.Store(false)
	return 0
}
