package fstest

import (
	"strings"
	"syscall"
)

// A place is the result of resolving a path: the directory of its last name, and the object, which is nil if the name is free.
// dir is nil for the root.
type place struct {
	dir  *node
	name string
	node *node
}

// A walk follows one path. trail has the directories from the root to the current one.
type walk struct {
	user  User
	trail []*node
	links int
}

// find resolves a path up to its last name. With follow it also follows a symbolic link there.
func (m *modelFS) find(name string, follow bool) (place, syscall.Errno) {
	if len(name) > pathMax {
		return place{}, syscall.ENAMETOOLONG
	}
	if name == "" {
		return place{}, syscall.ENOENT
	}
	w := &walk{user: m.user, trail: []*node{m.root}}
	return w.follow(name, follow)
}

// existing is find for an object that must exist.
func (m *modelFS) existing(name string, follow bool) (*node, syscall.Errno) {
	p, no := m.find(name, follow)
	if no != 0 {
		return nil, no
	}
	if p.node == nil {
		return nil, syscall.ENOENT
	}
	return p.node, 0
}

func (w *walk) here() *node { return w.trail[len(w.trail)-1] }

func (w *walk) follow(path string, followLast bool) (place, syscall.Errno) {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i, part := range parts {
		last := i == len(parts)-1
		at := w.here()
		if at.kind != IsDir {
			return place{}, syscall.ENOTDIR
		}
		if !at.allows(w.user, mayExec) {
			return place{}, syscall.EACCES
		}
		if len(part) > nameMax {
			return place{}, syscall.ENAMETOOLONG
		}
		next, no := w.step(at, part, last, !last || followLast)
		if no != 0 || last {
			return next, no
		}
		if next.node == nil {
			return place{}, syscall.ENOENT
		}
		if next.node != w.here() {
			w.trail = append(w.trail, next.node)
		}
	}
	return place{node: w.here()}, 0
}

// step resolves one name of a path. If it follows a link, trail ends where the link led.
func (w *walk) step(at *node, part string, last, follow bool) (place, syscall.Errno) {
	switch part {
	case ".":
		return place{node: at}, 0
	case "..":
		if len(w.trail) > 1 {
			w.trail = w.trail[:len(w.trail)-1]
		}
		return place{node: w.here()}, 0
	}
	p := place{dir: at, name: part, node: at.children[part]}
	if p.node == nil || p.node.kind != IsSymlink || !follow {
		return p, 0
	}
	if w.links++; w.links > linksMax {
		return place{}, syscall.ELOOP
	}
	if strings.HasPrefix(p.node.target, "/") {
		w.trail = w.trail[:1]
	}
	next, no := w.follow(p.node.target, true)
	if no == 0 && next.node == nil && !last {
		no = syscall.ENOENT
	}
	return next, no
}
