package fuse

import (
	"context"
	"sync"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

var (
	_ gofs.NodeOpendirHandler = (*node)(nil)
	_ gofs.FileReaddirenter   = (*dir)(nil)
	_ gofs.FileSeekdirer      = (*dir)(nil)
	_ gofs.FileLookuper       = (*dir)(nil)
	_ gofs.FileFsyncdirer     = (*dir)(nil)
)

// A dir is an open directory: what was in it when it was read first, or rewound.
type dir struct {
	n    *node
	view *client.FS // for who opened it

	mu      sync.Mutex
	read    bool
	entries []*client.Info
	byName  map[string]*client.Info // those that were given to the kernel and not looked up yet
	next    int                     // in entries, behind "." and ".."
}

// dots are the entries that every directory has: itself and its parent.
const dots = 2

// OpendirHandle opens the directory.
func (n *node) OpendirHandle(request context.Context, _ uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	return &dir{n: n, view: n.m.view(request)}, 0, 0
}

// Readdirent is the next entry; nil at the end.
func (d *dir) Readdirent(request context.Context) (*gofuse.DirEntry, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.loadLocked(request); e != 0 {
		return nil, e
	}
	at := d.next
	if at >= dots+len(d.entries) {
		return nil, 0
	}
	d.next++
	entry := &gofuse.DirEntry{Off: uint64(d.next), Mode: syscall.S_IFDIR}
	switch at {
	case 0:
		entry.Name, entry.Ino = ".", d.n.StableAttr().Ino
	case 1:
		entry.Name, entry.Ino = "..", d.n.StableAttr().Ino
		if _, parent := d.n.Parent(); parent != nil {
			entry.Ino = parent.StableAttr().Ino
		}
	default:
		info := d.entries[at-dots]
		entry.Name, entry.Ino, entry.Mode = info.Name(), uint64(info.Handle), typeOf(info.Attr.Type)
	}
	return entry, 0
}

// loadLocked reads the directory, with the attributes of what is in it.
func (d *dir) loadLocked(request context.Context) syscall.Errno {
	if d.read {
		return 0
	}
	path, ok := d.n.path()
	if !ok {
		d.read = true // it was removed, so it is empty
		return 0
	}
	ctx, end := patient(request)
	defer end()
	entries, err := d.view.ReadDirPlus(ctx, path)
	if err != nil {
		return errno(err)
	}
	d.read, d.entries = true, entries
	d.byName = make(map[string]*client.Info, len(entries))
	for _, info := range entries {
		d.byName[info.Name()] = info
	}
	return 0
}

// Seekdir goes to an entry by its offset. Rewound, the directory is read again.
func (d *dir) Seekdir(_ context.Context, off uint64) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if off == 0 {
		d.read, d.entries, d.byName = false, nil, nil
	}
	d.next = int(min(off, 1<<31))
	return 0
}

// Lookup finds an entry that was just read. What was made or changed meanwhile is asked for.
func (d *dir) Lookup(request context.Context, name string, out *gofuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	d.mu.Lock()
	info, ok := d.byName[name]
	delete(d.byName, name)
	d.mu.Unlock()
	if !ok {
		return d.n.Lookup(request, name, out)
	}
	return d.n.child(request, info, out), 0
}

// Fsyncdir returns when the directory is as safe as the servers keep it.
func (d *dir) Fsyncdir(request context.Context, _ uint32) syscall.Errno {
	c, end, e := d.n.begin(request)
	if e != 0 {
		return e
	}
	defer end()
	return errno(c.fs.Sync(c, c.path))
}
