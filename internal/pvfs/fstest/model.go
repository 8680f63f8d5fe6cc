package fstest

import (
	"io/fs"
	"sync"
	"syscall"
	"time"
)

// Limits of the model, which are those of the protocol.
const (
	nameMax       = 255
	pathMax       = 4095
	linksMax      = 40 // followed in one path
	xattrKeyMax   = 255
	xattrValueMax = 8192
	sizeMax       = 1<<63 - 1
)

// A Model is a file system in memory. It is slow and obvious, and others are compared with it.
type Model struct {
	mu   sync.Mutex
	root *node
	now  func() time.Time
}

// NewModel makes an empty file system. All users may search its root.
func NewModel() *Model {
	m := &Model{now: time.Now}
	m.root = m.newNode(IsDir, 0o755, Root)
	return m
}

// As returns the model for a user.
func (m *Model) As(u User) FS { return &modelFS{Model: m, user: u} }

// A node is an object. kind determines which of the last fields are used.
type node struct {
	kind                       Kind
	mode                       uint32
	uid, gid                   uint32
	accessed, modified, change time.Time
	xattrs                     map[string][]byte

	children map[string]*node
	target   string
	data     sparse
}

func (m *Model) newNode(kind Kind, mode uint32, u User) *node {
	now := m.now()
	n := &node{
		kind: kind, mode: mode & 0o6777, uid: u.UID, gid: u.group(),
		accessed: now, modified: now, change: now, xattrs: make(map[string][]byte),
	}
	if kind == IsDir {
		n.children = make(map[string]*node)
	}
	return n
}

func (u User) group() uint32 {
	if len(u.Groups) == 0 {
		return 0
	}
	return u.Groups[0]
}

func (u User) in(gid uint32) bool {
	for _, g := range u.Groups {
		if g == gid {
			return true
		}
	}
	return false
}

// The rights for allows, as in the last three bits of a mode.
const (
	mayExec  = 1
	mayWrite = 2
	mayRead  = 4
)

// allows reports whether a user has all these rights.
func (n *node) allows(u User, ask uint32) bool {
	switch {
	case u.UID == 0:
		return true
	case u.UID == n.uid:
		return n.mode>>6&ask == ask
	case u.in(n.gid):
		return n.mode>>3&ask == ask
	}
	return n.mode&ask == ask
}

func (n *node) info() Info {
	info := Info{
		Kind: n.kind, Mode: n.mode, UID: n.uid, GID: n.gid,
		Accessed: n.accessed, Modified: n.modified, Change: n.change, Size: n.data.size,
	}
	if n.kind == IsSymlink {
		info.Size = int64(len(n.target))
	}
	return info
}

// touched records that names in a directory, or bytes of a file, have changed.
func (m *Model) touched(n *node) {
	n.modified = m.now()
	n.change = n.modified
}

// modelFS is the model for one user.
type modelFS struct {
	*Model
	user User
}

var _ FS = (*modelFS)(nil)

// failed makes an error like those of package os.
func failed(op, name string, no syscall.Errno) error {
	if no == 0 {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: no}
}
