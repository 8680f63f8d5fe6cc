package pvfs

import (
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// apart fails if the target of a copy is its source or inside it, or if an existing object is in the way. It also finds out
// whether there is a target.
func (c *copier) apart(j *copyJob) error {
	if j.absent {
		return nil
	}
	there, err := j.to.stat(j.dst, j.dst.rel == "")
	j.absent = err != nil
	switch {
	case !j.absent && sameObject(j.from, j.info, j.to, there):
		return program.Usagef("%s and %s are the same", j.src.given, j.dst.given)
	case j.info.IsDir() && j.outermost && j.inside():
		return program.Usagef("cannot copy a directory, %s, into itself, %s", j.src.given, j.dst.given)
	case j.absent || j.dst.rel == "":
		return nil // a name on the command line may be a link to a directory, or a device
	}
	const links = fs.ModeSymlink
	switch mode := there.Mode().Type(); {
	case j.info.IsDir() && mode == links:
		return j.target(&fs.PathError{Op: "mkdir", Path: j.dst.given, Err: errLink})
	case j.info.Mode().IsRegular() && mode&^(links|fs.ModeDir) != 0:
		return j.target(&fs.PathError{Op: "open", Path: j.dst.given, Err: errNoBytes})
	}
	return nil
}

// inside reports whether the target is below the source, or will be when it is made. It follows symbolic links: ".." after a link
// is the parent of the link's target. It stops at a directory that it cannot read.
func (j *copyJob) inside() bool {
	at := j.dst
	if j.absent {
		at.path = parent(at.path)
	}
	for below := fs.FileInfo(nil); ; at.path += "/.." {
		info, err := j.to.stat(at, true)
		switch {
		case err != nil:
			return false
		case sameObject(j.from, j.info, j.to, info):
			return true
		case below != nil && sameObject(j.to, below, j.to, info):
			return false // the root is its own parent
		}
		below = info
	}
}

// parent is the directory part of a name. It does not resolve "..", because that may come after a link.
func parent(name string) string {
	name = strings.TrimRight(name, "/")
	switch i := strings.LastIndexByte(name, '/'); {
	case i < 0:
		return "."
	case i == 0:
		return "/"
	default:
		return name[:i]
	}
}

// sameObject reports whether two names refer to the same object. One may be on a file system and the other one may go through a
// mount of it.
func sameObject(a tree, infoA fs.FileInfo, b tree, infoB fs.FileInfo) bool {
	at, remoteA := a.(*remoteTree)
	bt, remoteB := b.(*remoteTree)
	switch {
	case remoteA && remoteB:
		// Many file systems have the same name and number, but the addresses of their servers differ.
		return at.fs.Config().Text == bt.fs.Config().Text && handleOf(infoA) == handleOf(infoB)
	case remoteA:
		return throughMount(at, infoA, infoB)
	case remoteB:
		return throughMount(bt, infoB, infoA)
	}
	return os.SameFile(infoA, infoB)
}

// throughMount reports whether a local object is one of a file system, seen through a mount. A mount shows the name of the file
// system and the handles of objects. Other file systems may have the same, but hardly with the same ctime.
func throughMount(t *remoteTree, info, local fs.FileInfo) bool {
	i, ok := info.(*client.Info)
	st, okLocal := local.Sys().(*syscall.Stat_t)
	return ok && okLocal && st.Ino == uint64(i.Handle) && st.Ctim.Sec == i.Attr.CTime && fuse.Shows(st.Dev, t.fs.Name())
}
