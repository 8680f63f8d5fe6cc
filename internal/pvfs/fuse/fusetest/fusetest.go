// Package fusetest says whether file systems can be mounted here. It is for tests only.
package fusetest

import (
	"os"
	"sync"
	"testing"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
)

// Need skips a test if nothing can be mounted.
func Need(t testing.TB) {
	t.Helper()
	need.Unless(t, need.FUSE, Try())
}

// Try mounts an empty file system once, and returns why it cannot.
var Try = sync.OnceValue(func() error {
	if err := fuse.Available(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fusetest-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }()
	// Root needs no program to mount, as in package fuse.
	server, err := gofs.Mount(dir, &gofs.Inode{}, &gofs.Options{MountOptions: gofuse.MountOptions{DirectMountStrict: os.Geteuid() == 0}})
	if err != nil {
		return err
	}
	if err := server.Unmount(); err == nil {
		return nil
	}
	return fuse.Detach(dir) // somebody has looked at it, and the kernel does not know yet that they have gone
})
