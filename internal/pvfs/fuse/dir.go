package fuse

import (
	"context"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

var (
	_ gofs.NodeOpendirHandler = (*node)(nil)
	_ gofs.FileReaddirenter   = (*dir)(nil)
	_ gofs.FileSeekdirer      = (*dir)(nil)
	_ gofs.FileLookuper       = (*dir)(nil)
	_ gofs.FileFsyncdirer     = (*dir)(nil)
	_ gofs.FileReleasedirer   = (*dir)(nil)
)

// A dir is an open directory. It is read in pages, so it may be larger than memory. The offset of an entry is the number of
// entries before it. Offsets are valid until the directory is rewound.
type dir struct {
	n *node
	f *client.File // opened for the caller of opendir

	mu     sync.Mutex
	page   []*client.Info          // the entries read last
	first  int                     // number of entries before page
	next   int                     // index of the next entry, counting "." and ".."
	given  bool                    // the last result of Readdirent was an entry, so go-fuse's answer has one
	ended  bool                    // there are no entries after page
	asked  int64                   // the mount's count of changes when page was requested
	at     time.Time               // when page was requested
	byName map[string]*client.Info // entries of page that the kernel has not looked up yet
}

const (
	dots    = 2                // the entries that every directory has: itself and its parent
	pageMax = proto.MaxReadDir // entries of a page
)

// OpendirHandle opens the directory.
func (n *node) OpendirHandle(request context.Context, _ uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	c, end, e := n.begin(request)
	if e != 0 {
		return nil, 0, e
	}
	defer end()
	f, err := c.fs.OpenFile(c, c.path, os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, errno(err)
	}
	return &dir{n: n, f: f}, 0, 0
}

// Readdirent returns the next entry; nil at the end. go-fuse loses entries if an error follows them in an answer. So an error
// after an entry only ends the answer. The kernel then asks again, and gets the error if it persists.
func (d *dir) Readdirent(request context.Context) (*gofuse.DirEntry, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	begun := d.given
	entry, e := d.entryLocked(request)
	d.given = entry != nil
	if begun && e != 0 {
		return nil, 0
	}
	return entry, e
}

func (d *dir) entryLocked(request context.Context) (*gofuse.DirEntry, syscall.Errno) {
	entry := &gofuse.DirEntry{Off: uint64(d.next + 1), Mode: syscall.S_IFDIR}
	switch at := d.next - dots; at {
	case -2:
		entry.Name, entry.Ino = ".", d.n.StableAttr().Ino
	case -1:
		entry.Name, entry.Ino = "..", d.n.StableAttr().Ino
		if _, parent := d.n.Parent(); parent != nil {
			entry.Ino = parent.StableAttr().Ino
		}
	default:
		there, e := d.reachLocked(request, at)
		if e != 0 || !there {
			return nil, e
		}
		info := d.page[at-d.first]
		entry.Name, entry.Ino, entry.Mode = info.Name(), uint64(info.Handle), typeOf(info.Attr.Type)
	}
	d.next++
	return entry, 0
}

// reachLocked reads until page has the entry at an index, which must not be before page. It returns false if the directory ends
// first.
func (d *dir) reachLocked(request context.Context, at int) (bool, syscall.Errno) {
	ctx, end := patient(request)
	defer end()
	for at >= d.first+len(d.page) {
		if d.ended {
			return false, 0
		}
		asked, at := d.n.m.changes.Load(), time.Now()
		infos, err := d.f.ReadDirPlusCtx(ctx, pageMax)
		switch e := errno(err); {
		case err == io.EOF, e == syscall.ENOENT: // a removed directory is empty
			d.ended = true
			continue
		case e != 0:
			d.rewindLocked() // the next try starts from the beginning
			return false, e
		}
		d.asked, d.at = asked, at
		d.first += len(d.page)
		d.page, d.byName = infos, make(map[string]*client.Info, len(infos))
		for _, info := range infos {
			d.byName[info.Name()] = info
		}
	}
	return true, 0
}

// Seekdir goes to the entry with an offset. For an entry before page it reads again from the beginning.
func (d *dir) Seekdir(_ context.Context, off uint64) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next, d.given = int(min(off, 1<<31)), false
	if off == 0 || d.next-dots < d.first {
		d.rewindLocked()
	}
	return 0
}

// rewindLocked drops the entries and starts from the beginning.
func (d *dir) rewindLocked() {
	d.f.RewindDir()
	d.page, d.byName, d.first, d.ended = nil, nil, 0, false
}

// Lookup finds an entry that was just read. It asks the server if the entry was made or changed since, or if the program reads so
// slowly that the attributes have expired.
func (d *dir) Lookup(request context.Context, name string, out *gofuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	d.mu.Lock()
	info, ok := d.byName[name]
	delete(d.byName, name)
	asked, age := d.asked, time.Since(d.at)
	d.mu.Unlock()
	if keep := timeOr(d.n.m.opt.AttrTime); !ok || keep > 0 && age > keep || d.changed(name, asked) {
		return d.n.Lookup(request, name, out)
	}
	return d.n.child(request, info, out), 0
}

// changed reports whether the object of a name changed after a count of changes.
func (d *dir) changed(name string, after int64) bool {
	if child := d.n.GetChild(name); child != nil {
		return child.Operations().(*node).changed.Load() > after
	}
	return d.n.changed.Load() > after // the name may be gone
}

// Fsyncdir flushes the directory to the disks of the servers.
func (d *dir) Fsyncdir(request context.Context, _ uint32) syscall.Errno {
	ctx, end := patient(request)
	defer end()
	return errno(d.f.SyncCtx(ctx))
}

// Releasedir closes the directory.
func (d *dir) Releasedir(context.Context, uint32) {
	_ = d.f.Close() // nothing was written
}
