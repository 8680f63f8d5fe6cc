package pvfs

import (
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/fuse"
)

// apart fails if the target of a copy is its source, or a place inside it, or if what is there now is in the way. It also finds out
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
		return nil // what the command line names may be a link to a directory, or a device
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

// inside tells whether the target is below the source, or will be when it is made. Symbolic links are followed: ".." behind a
// directory is the one that it is really in. What cannot be looked at ends the way up.
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
			return false // the top is its own parent
		}
		below = info
	}
}

// parent is the directory that has a name, without resolving "..", which is behind a link perhaps.
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

// sameObject tells whether two names lead to one object, also if one is of a file system and the other goes through a
// mount of that.
func sameObject(a tree, infoA fs.FileInfo, b tree, infoB fs.FileInfo) bool {
	at, remoteA := a.(*remoteTree)
	bt, remoteB := b.(*remoteTree)
	switch {
	case remoteA && remoteB:
		// Many file systems have the same name and number; the addresses of their servers differ.
		return at.fs.Config().Text == bt.fs.Config().Text && handleOf(infoA) == handleOf(infoB)
	case remoteA:
		return throughMount(at, infoA, infoB)
	case remoteB:
		return throughMount(bt, infoB, infoA)
	}
	return os.SameFile(infoA, infoB)
}

// throughMount tells whether a local object is one of a file system, seen through a mount. A mount tells the name of the file system
// and the handles of objects, which other file systems may have as well, but hardly with the same time.
func throughMount(t *remoteTree, info, local fs.FileInfo) bool {
	i, ok := info.(*client.Info)
	st, okLocal := local.Sys().(*syscall.Stat_t)
	return ok && okLocal && st.Ino == uint64(i.Handle) && st.Ctim.Sec == i.Attr.CTime && fuse.Shows(st.Dev, t.fs.Name())
}
