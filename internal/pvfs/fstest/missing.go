package fstest

import (
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// An action is one call on a name, for tests of what can be wrong with the name. kind is the object that must exist for the call
// to succeed; it is empty if the name must be free.
type action struct {
	name string
	kind Kind
	does func(a *actor, name string) error
	// needs are further abilities.
	needs []Ability
}

var actions = []action{
	{"Open", IsFile, func(a *actor, n string) error { return a.try(n, os.O_RDWR, 0) }, nil},
	{"Create", "", func(a *actor, n string) error { return a.try(n, os.O_RDWR|os.O_CREATE, 0o644) }, nil},
	{"Mkdir", "", func(a *actor, n string) error { return a.fs.Mkdir(a.at(n), 0o755) }, nil},
	{"Remove", IsFile, func(a *actor, n string) error { return a.fs.Remove(a.at(n)) }, nil},
	{"RenameFrom", IsFile, func(a *actor, n string) error { return a.fs.Rename(a.at(n), a.at("elsewhere")) }, nil},
	{"RenameTo", "", func(a *actor, n string) error { return a.fs.Rename(a.at("source"), a.at(n)) }, nil},
	{"Symlink", "", func(a *actor, n string) error { return a.fs.Symlink("target", a.at(n)) }, []Ability{Symlinks}},
	{"Readlink", IsSymlink, func(a *actor, n string) error { _, err := a.fs.Readlink(a.at(n)); return err }, []Ability{Symlinks}},
	{"Stat", IsFile, func(a *actor, n string) error { _, err := a.fs.Stat(a.at(n)); return err }, nil},
	{"Lstat", IsFile, func(a *actor, n string) error { _, err := a.fs.Lstat(a.at(n)); return err }, nil},
	{"ReadDir", IsDir, func(a *actor, n string) error { _, err := a.fs.ReadDir(a.at(n)); return err }, nil},
	{"Truncate", IsFile, func(a *actor, n string) error { return a.fs.Truncate(a.at(n), 5) }, nil},
	{"Chmod", IsFile, func(a *actor, n string) error { return a.fs.Chmod(a.at(n), 0o600) }, nil},
	{"Chown", IsFile, func(a *actor, n string) error { return a.fs.Chown(a.at(n), -1, 7) }, nil},
	{"Chtimes", IsFile, func(a *actor, n string) error { return a.fs.Chtimes(a.at(n), someTime, someTime) }, nil},
	{"Setxattr", IsFile, func(a *actor, n string) error { return a.fs.Setxattr(a.at(n), "user.k", []byte("v"), 0) }, []Ability{Xattrs}},
	{"Getxattr", IsFile, func(a *actor, n string) error { _, err := a.fs.Getxattr(a.at(n), "user.k"); return err }, []Ability{Xattrs}},
	{"Listxattr", IsFile, func(a *actor, n string) error { _, err := a.fs.Listxattr(a.at(n)); return err }, []Ability{Xattrs}},
	{"Removexattr", IsFile, func(a *actor, n string) error { return a.fs.Removexattr(a.at(n), "user.k") }, []Ability{Xattrs}},
}

var someTime = time.Unix(1_000_000_000, 0)

// mishaps are the faults that any name can have in any call.
var mishaps = []struct {
	name  string
	makes func(a *actor)
	at    string // the name to try
	want  []syscall.Errno
	needs []Ability
}{
	{"OfMissingParent", nil, "none/x", []syscall.Errno{syscall.ENOENT}, nil},
	{"ThroughFile", func(a *actor) { a.put("file", nil) }, "file/x", []syscall.Errno{syscall.ENOTDIR}, nil},
	{"ThroughLoop", func(a *actor) { a.symlink("loop2", "loop1"); a.symlink("loop1", "loop2") }, "loop1/x", []syscall.Errno{syscall.ELOOP}, []Ability{Symlinks}},
	{"ThroughDangling", func(a *actor) { a.symlink("nowhere", "l") }, "l/x", []syscall.Errno{syscall.ENOENT}, []Ability{Symlinks}},
	{"OfTooLongName", nil, strings.Repeat("n", 256), []syscall.Errno{syscall.ENAMETOOLONG}, nil},
	{"BelowTooLongName", nil, strings.Repeat("n", 256) + "/x", []syscall.Errno{syscall.ENAMETOOLONG, syscall.ENOENT}, nil},
	{"OfTooLongPath", nil, strings.Repeat("d/", 2100) + "x", []syscall.Errno{syscall.ENAMETOOLONG}, nil},
}

// missingCases combine all actions with all mishaps.
var missingCases = func() Cases {
	var out Cases
	for _, do := range actions {
		for _, m := range mishaps {
			out = append(out, Case{do.name + m.name, append(append([]Ability{}, do.needs...), m.needs...), func(e *Env) {
				e.root.put("source", []byte("source"))
				if m.makes != nil {
					m.makes(e.root)
				}
				e.fails(do.does(e.root, m.at), m.want...)
				e.root.holds("source", []byte("source"))
			}})
		}
		if do.kind != "" {
			out = append(out, Case{do.name + "OfMissingName", do.needs, func(e *Env) {
				e.fails(do.does(e.root, "none"), syscall.ENOENT)
				require.Empty(e, e.root.list("."))
			}})
		}
		out = append(out, Case{do.name + "InClosedDirectory", append([]Ability{Users}, do.needs...), func(e *Env) { closedDirectory(e, do) }})
	}
	return out
}()

// closedDirectory: a directory without the right to search it blocks all names below it.
func closedDirectory(e *Env, do action) {
	e.root.mkdir("d")
	if do.kind != "" {
		e.root.make("d/x", do.kind)
		e.root.chmodUnlessLink("d/x", do.kind)
	}
	u := e.as(userA)
	u.put("source", []byte("source"))
	e.root.chmod("d", 0o766)
	e.denied(do.does(u, "d/x"))
	u.holds("source", []byte("source"))
	e.root.chmod("d", 0o777)
	if do.kind != "" {
		require.Equal(e, []string{"x"}, e.root.list("d"))
	} else {
		require.Empty(e, e.root.list("d"))
	}
}

// chmodUnlessLink gives all users all rights to an object.
func (a *actor) chmodUnlessLink(name string, kind Kind) {
	a.Helper()
	if kind != IsSymlink {
		a.chmod(name, 0o777)
	}
}
