package fstest

import (
	"slices"
	"syscall"
)

func (m *modelFS) Mkdir(name string, mode uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, no := m.make(name, IsDir, mode)
	return failed("mkdir", name, no)
}

func (m *modelFS) Symlink(target, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if target == "" {
		return failed("symlink", name, syscall.ENOENT)
	}
	if len(target) > pathMax {
		return failed("symlink", name, syscall.ENAMETOOLONG)
	}
	n, no := m.make(name, IsSymlink, 0o777)
	if no == 0 {
		n.target = target
	}
	return failed("symlink", name, no)
}

// make makes a new object. The name must be free.
func (m *modelFS) make(name string, kind Kind, mode uint32) (*node, syscall.Errno) {
	p, no := m.find(name, false)
	switch {
	case no != 0:
		return nil, no
	case p.node != nil:
		return nil, syscall.EEXIST
	}
	return m.makeAt(p, kind, mode)
}

func (m *modelFS) makeAt(p place, kind Kind, mode uint32) (*node, syscall.Errno) {
	if !p.dir.allows(m.user, mayWrite|mayExec) {
		return nil, syscall.EACCES
	}
	n := m.newNode(kind, mode, m.user)
	if p.dir.mode&0o2000 != 0 {
		n.gid = p.dir.gid
		if kind == IsDir {
			n.mode |= 0o2000
		}
	}
	p.dir.children[p.name] = n
	m.touched(p.dir)
	return n, 0
}

func (m *modelFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return failed("remove", name, m.remove(name))
}

func (m *modelFS) remove(name string) syscall.Errno {
	p, no := m.find(name, false)
	switch {
	case no != 0:
		return no
	case p.node == nil:
		return syscall.ENOENT
	case p.dir == nil:
		return syscall.EBUSY
	case !p.dir.allows(m.user, mayWrite|mayExec):
		return syscall.EACCES
	case len(p.node.children) > 0:
		return syscall.ENOTEMPTY
	}
	delete(p.dir.children, p.name)
	m.touched(p.dir)
	return 0
}

func (m *modelFS) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return failed("rename", from, m.rename(from, to))
}

func (m *modelFS) rename(from, to string) syscall.Errno {
	old, no := m.find(from, false)
	if no != 0 {
		return no
	}
	if old.node == nil {
		return syscall.ENOENT
	}
	target, no := m.find(to, false)
	switch {
	case no != 0:
		return no
	case old.dir == nil || target.dir == nil:
		return syscall.EBUSY
	case old.node == target.node:
		return 0
	case !old.dir.allows(m.user, mayWrite|mayExec), !target.dir.allows(m.user, mayWrite|mayExec):
		return syscall.EACCES
	case holdsNode(old.node, target.dir):
		return syscall.EINVAL
	}
	if no := replaceable(old.node, target.node); no != 0 {
		return no
	}
	delete(old.dir.children, old.name)
	target.dir.children[target.name] = old.node
	m.touched(old.dir)
	m.touched(target.dir)
	old.node.change = m.now()
	return 0
}

// replaceable returns an error if n may not replace there.
func replaceable(n, there *node) syscall.Errno {
	switch {
	case there == nil:
		return 0
	case n.kind == IsDir && there.kind != IsDir:
		return syscall.ENOTDIR
	case n.kind != IsDir && there.kind == IsDir:
		return syscall.EISDIR
	case len(there.children) > 0:
		return syscall.ENOTEMPTY
	}
	return 0
}

// holdsNode reports whether n is top or below it.
func holdsNode(top, n *node) bool {
	if top == n {
		return true
	}
	for _, child := range top.children {
		if child.kind == IsDir && holdsNode(child, n) {
			return true
		}
	}
	return false
}

func (m *modelFS) Readlink(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, no := m.existing(name, false)
	if no == 0 && n.kind != IsSymlink {
		no = syscall.EINVAL
	}
	if no != 0 {
		return "", failed("readlink", name, no)
	}
	return n.target, nil
}

func (m *modelFS) ReadDir(name string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, no := m.existing(name, true)
	switch {
	case no != 0:
	case n.kind != IsDir:
		no = syscall.ENOTDIR
	case !n.allows(m.user, mayRead):
		no = syscall.EACCES
	}
	if no != 0 {
		return nil, failed("readdir", name, no)
	}
	var entries []Entry
	for name, child := range n.children {
		entries = append(entries, Entry{Name: name, Kind: child.kind})
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return entries, nil
}
