package fstest_test

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
)

// flawed returns the model with a flaw for a user.
func flawed(f flaw) func(fstest.User) fstest.FS {
	w := &flawedWorld{model: fstest.NewModel(), removed: map[string]bool{}, old: map[string][]byte{}, xattrs: map[string]map[string][]byte{}}
	w.root = w.model.As(fstest.Root)
	return func(u fstest.User) fstest.FS {
		switch {
		case f == ignoresGroups:
			u.Groups = nil
		case f == ignoresLaterGroups:
			u.Groups = u.Groups[:1]
		case f == everybodyIsRoot:
			u.UID = 0
		}
		return &flawedFS{FS: w.model.As(u), w: w, f: f, user: u}
	}
}

// flawedWorld is the common state of a flawed file system for all users.
type flawedWorld struct {
	model *fstest.Model
	root  fstest.FS

	mu      sync.Mutex
	removed map[string]bool
	old     map[string][]byte // truncated bytes, by name
	xattrs  map[string]map[string][]byte
}

// flawedFS is the model with one flaw. Methods that it does not define are the model's.
type flawedFS struct {
	fstest.FS
	w    *flawedWorld
	f    flaw
	user fstest.User
}

// errs changes an error.
func (x *flawedFS) errs(err error) error {
	switch {
	case err == nil:
		return nil
	case x.f == mixesErrors:
		return syscall.EIO
	case x.f == loopsAreMissing && errors.Is(err, syscall.ELOOP):
		return syscall.ENOENT
	case x.f == filesAreMissing && errors.Is(err, syscall.ENOTDIR):
		return syscall.ENOENT
	case x.f == refusalsAreMissing && errors.Is(err, fs.ErrPermission):
		return syscall.ENOENT
	}
	return err
}

// name changes a name.
func (x *flawedFS) name(name string) (string, error) {
	switch x.f {
	case foldsCase:
		dir, base := path.Split(name)
		return dir + strings.ToLower(base), nil
	case normalises:
		return strings.ReplaceAll(name, "e\u0301", "\u00e9"), nil
	case wantsUTF8:
		if !utf8.ValidString(name) {
			return "", syscall.EINVAL
		}
	case cleansPaths:
		return path.Clean(name), nil
	case losesDoubledSlashes:
		if strings.Contains(name, "//") {
			return "", syscall.ENOENT
		}
	case limitsDepth:
		if strings.Count(name, "/") > 40 {
			return "", syscall.ENAMETOOLONG
		}
	case limitsPath:
		if len(name) > 1024 {
			return "", syscall.ENAMETOOLONG
		}
	case cutsNames, cutsLongNames:
		limit := map[flaw]int{cutsNames: 254, cutsLongNames: 255}[x.f]
		parts := strings.Split(name, "/")
		for i, part := range parts {
			parts[i] = part[:min(len(part), limit)]
		}
		return strings.Join(parts, "/"), nil
	}
	return name, nil
}

// on calls fn with a changed name, as the user or as root.
func (x *flawedFS) on(name string, asRoot bool, fn func(f fstest.FS, name string) error) error {
	name, err := x.name(name)
	if err != nil {
		return err
	}
	f := x.FS
	if asRoot {
		f = x.w.root
	}
	err = fn(f, name)
	if x.f == anyClassWill && errors.Is(err, fs.ErrPermission) {
		err = fn(x.w.model.As(fstest.User{UID: 1 << 30, Groups: x.user.Groups}), name)
		if errors.Is(err, fs.ErrPermission) {
			err = fn(x.w.model.As(fstest.User{UID: 1 << 30}), name)
		}
	}
	return x.errs(err)
}

func (x *flawedFS) Open(name string, flag int, mode uint32) (file fstest.File, err error) {
	switch x.f {
	case ignoresTruncFlag:
		flag &^= os.O_TRUNC
	case ignoresExclusive:
		flag &^= os.O_EXCL
	case createsAlways:
		flag |= os.O_CREATE
	case ignoresReadOnly:
		if f, err := x.w.root.Open(name, os.O_RDWR, 0); err == nil {
			_ = f.Close()
			flag = flag&^3 | os.O_RDWR
		}
	case appendOverwrites:
		flag &^= os.O_APPEND
	case hasUmask:
		mode &^= 0o022
	}
	asRoot := x.f == everybodyReads && flag&3 == os.O_RDONLY || x.f == everybodyWrites && flag&3 != os.O_RDONLY && flag&os.O_CREATE == 0 ||
		x.f == everybodyMakes && flag&os.O_CREATE != 0
	err = x.on(name, asRoot, func(f fstest.FS, name string) error {
		file, err = f.Open(name, flag, mode)
		return err
	})
	if err != nil {
		return nil, err
	}
	if x.f == openTruncatesDirs && flag&os.O_TRUNC != 0 {
		_ = x.w.root.Chmod(name, 0o777)
	}
	x.owner(name, flag&os.O_CREATE != 0)
	return &flawedFile{File: file, x: x, name: name, flag: flag}, nil
}

// owner changes the owner of a new object.
func (x *flawedFS) owner(name string, made bool) {
	if made && x.f == madeByRoot {
		_ = x.w.root.Chown(name, 0, 0)
	}
	if info, err := x.w.root.Lstat(name); made && err == nil && x.f == ignoresSetGID && info.Kind != fstest.IsSymlink {
		_ = x.w.root.Chown(name, -1, int(x.user.Groups[0]))
	}
	if made && x.f == keepsXattrs {
		for k, v := range x.w.xattrs[name] {
			_ = x.w.root.Setxattr(name, k, v, 0)
		}
	}
}

func (x *flawedFS) Mkdir(name string, mode uint32) error {
	if x.f == makesParents {
		if _, err := x.w.root.Lstat(path.Dir(name)); errors.Is(err, syscall.ENOENT) && len(path.Base(path.Dir(name))) < 10 {
			_ = x.w.root.Mkdir(path.Dir(name), 0o777)
		}
	}
	if x.f == hasUmask {
		mode &^= 0o022
	}
	err := x.on(name, x.f == everybodyMakes, func(f fstest.FS, name string) error { return f.Mkdir(name, mode) })
	if err == nil {
		x.owner(name, true)
	}
	if x.f == mkdirsTwice && errors.Is(err, syscall.EEXIST) {
		return nil
	}
	return err
}

func (x *flawedFS) Remove(name string) error {
	switch {
	case x.f == removesNothing && !strings.HasPrefix(path.Base(name), "case"):
		return nil
	case x.f == removesFull:
		if info, err := x.FS.Lstat(name); err == nil && info.Kind == fstest.IsDir {
			return removeTree(x.FS, name)
		}
	case x.f == removesTarget:
		if target, err := x.FS.Readlink(name); err == nil {
			return x.FS.Remove(path.Join(path.Dir(name), target))
		}
	}
	err := x.on(name, x.f == everybodyRemoves, func(f fstest.FS, name string) error { return f.Remove(name) })
	if err == nil {
		x.w.mu.Lock()
		x.w.removed[name] = true
		x.w.mu.Unlock()
	}
	return err
}

func removeTree(f fstest.FS, name string) error {
	entries, err := f.ReadDir(name)
	for _, entry := range entries {
		err = errors.Join(err, removeTree(f, name+"/"+entry.Name))
	}
	return f.Remove(name)
}

func (x *flawedFS) Rename(from, to string) error {
	there, err := x.FS.Lstat(to)
	taken := err == nil && from != to
	switch {
	case x.f == forgetsToReplace && taken:
		return syscall.EEXIST
	case x.f == replacesFull && taken && there.Kind == fstest.IsDir:
		_ = removeTree(x.FS, to)
	case x.f == replacesAnything && taken && !strings.HasPrefix(from, to):
		_ = x.FS.Remove(to)
	case x.f == renamesIntoItself && strings.HasPrefix(to, from+"/"):
		return nil
	case x.f == renameFollows:
		if target, err := x.FS.Readlink(from); err == nil {
			from = path.Join(path.Dir(from), target)
		}
		if target, err := x.FS.Readlink(to); err == nil {
			to = path.Join(path.Dir(to), target)
		}
	case x.f == renameCopies:
		if info, err := x.FS.Lstat(from); err == nil && info.Kind == fstest.IsFile && !taken && from != to {
			f, err := x.FS.Open(to, os.O_CREATE|os.O_RDWR, 0o644)
			if err == nil {
				return f.Close()
			}
		}
	case x.f == renameResetsMode:
		defer func() { _ = x.w.root.Chmod(to, 0o644) }()
	case x.f == renamesToItselfRemoves && from == to:
		return removeTree(x.FS, from)
	}
	return x.on(from, x.f == everybodyRenames, func(f fstest.FS, from string) error {
		to, err := x.name(to)
		if err != nil {
			return err
		}
		return f.Rename(from, to)
	})
}

func (x *flawedFS) Symlink(target, name string) error {
	switch x.f {
	case cutsTargets:
		target = target[:min(len(target), 255)]
	case cleansTargets:
		target = path.Clean(target)
	case symlinksOver:
		_ = x.FS.Remove(name)
	}
	err := x.on(name, x.f == everybodyMakes, func(f fstest.FS, name string) error { return f.Symlink(target, name) })
	if err == nil {
		x.owner(name, x.f != madeByRoot)
	}
	return err
}

func (x *flawedFS) Readlink(name string) (target string, err error) {
	err = x.on(name, false, func(f fstest.FS, name string) error {
		target, err = f.Readlink(name)
		return err
	})
	if x.f == readsAnyLink && errors.Is(err, syscall.EINVAL) {
		return "", nil
	}
	return target, err
}

func (x *flawedFS) Stat(name string) (fstest.Info, error) { return x.stat(name, true) }
func (x *flawedFS) Lstat(name string) (fstest.Info, error) {
	return x.stat(name, x.f == lstatFollows)
}

func (x *flawedFS) stat(name string, follow bool) (info fstest.Info, err error) {
	err = x.on(name, x.f == everybodySearches, func(f fstest.FS, name string) error {
		if follow {
			info, err = f.Stat(name)
		} else {
			info, err = f.Lstat(name)
		}
		return err
	})
	return x.info(info), err
}

// info changes the description of an object.
func (x *flawedFS) info(info fstest.Info) fstest.Info {
	switch x.f {
	case hasShortTimes:
		info.Modified = time.Unix(int64(int32(info.Modified.Unix())), 0)
	case hasNoTimes:
		info.Change, info.Accessed = time.Time{}, time.Time{}
	case roundsSizes:
		if info.Kind == fstest.IsFile {
			info.Size = (info.Size + 511) / 512 * 512
		}
	case hasShortIDs:
		info.UID, info.GID = info.UID&0xffff, info.GID&0xffff
	case everythingIsAFile:
		info.Kind = fstest.IsFile
	}
	return info
}
