package fstest

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"
)

func (m *modelFS) Stat(name string) (Info, error)  { return m.describe("stat", name, true) }
func (m *modelFS) Lstat(name string) (Info, error) { return m.describe("lstat", name, false) }

func (m *modelFS) describe(op, name string, follow bool) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, no := m.existing(name, follow)
	if no != 0 {
		return Info{}, failed(op, name, no)
	}
	return n.info(), nil
}

// change finds an object and changes it if the user may do that: its owner and root may.
func (m *modelFS) change(op, name string, fn func(n *node) syscall.Errno) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, no := m.existing(name, true)
	if no == 0 && m.user.UID != 0 && m.user.UID != n.uid {
		no = syscall.EPERM
	}
	if no == 0 {
		no = fn(n)
	}
	if no == 0 {
		n.change = m.now()
	}
	return failed(op, name, no)
}

func (m *modelFS) Chmod(name string, mode uint32) error {
	return m.change("chmod", name, func(n *node) syscall.Errno {
		n.mode = mode & 0o6777
		return 0
	})
}

func (m *modelFS) Chown(name string, uid, gid int) error {
	return m.change("chown", name, func(n *node) syscall.Errno {
		newUser := uid != -1 && uint32(uid) != n.uid
		newGroup := gid != -1 && uint32(gid) != n.gid
		if m.user.UID != 0 && (newUser || newGroup && !m.user.in(uint32(gid))) {
			return syscall.EPERM
		}
		if uid != -1 {
			n.uid = uint32(uid)
		}
		if gid != -1 {
			n.gid = uint32(gid)
		}
		return 0
	})
}

func (m *modelFS) Chtimes(name string, access, modified time.Time) error {
	return m.change("chtimes", name, func(n *node) syscall.Errno {
		if !access.IsZero() {
			n.accessed = access
		}
		if !modified.IsZero() {
			n.modified = modified
		}
		return 0
	})
}

func (m *modelFS) Setxattr(name, key string, value []byte, flag int) error {
	return m.change("setxattr", name, func(n *node) syscall.Errno {
		_, there := n.xattrs[key]
		switch {
		case len(key) > xattrKeyMax:
			return syscall.ERANGE
		case len(value) > xattrValueMax:
			return syscall.E2BIG
		case flag == XattrCreate && there:
			return syscall.EEXIST
		case flag == XattrReplace && !there:
			return syscall.ENODATA
		}
		n.xattrs[key] = bytes.Clone(value)
		return 0
	})
}

func (m *modelFS) Removexattr(name, key string) error {
	return m.change("removexattr", name, func(n *node) syscall.Errno {
		if _, there := n.xattrs[key]; !there {
			return syscall.ENODATA
		}
		delete(n.xattrs, key)
		return 0
	})
}

func (m *modelFS) Getxattr(name, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, no := m.existing(name, true)
	if no != 0 {
		return nil, failed("getxattr", name, no)
	}
	if strings.HasPrefix(key, "user.") && !n.allows(m.user, mayRead) { // before it says whether there is one: xattr(7)
		return nil, failed("getxattr", name, syscall.EACCES)
	}
	value, there := n.xattrs[key]
	if !there {
		return nil, failed("getxattr", name, syscall.ENODATA)
	}
	return bytes.Clone(value), nil
}

func (m *modelFS) Listxattr(name string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, no := m.existing(name, true)
	if no != 0 {
		return nil, failed("listxattr", name, no)
	}
	return slices.Sorted(maps.Keys(n.xattrs)), nil
}

func (m *modelFS) Space() (Space, error) { return Space{Total: 1 << 40, Free: 1 << 39}, nil }
