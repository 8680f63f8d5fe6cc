package pvfs

import (
	"path"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

// A place is a name from the command line: on a file system, or local.
type place struct {
	given string
	local bool
	// fs is the file system's source; "" is the default one.
	fs string
	// path is absolute on a file system, and unchanged if local.
	path string
	// rel is the part of path below the name on the command line; "" is that name itself.
	rel string
}

// remote parses a name of a command that works only on file systems.
func remote(name string) (place, error) {
	p := place{given: name}
	switch {
	case name == "":
		return p, program.Usagef("an empty name; the top of the file system is /")
	case strings.Contains(name, "://"):
		return p.withSource(name)
	}
	p.path = absolute(strings.TrimPrefix(name, ":"))
	return p, nil
}

// either parses a name that is local unless it says otherwise.
func either(name string) (place, error) {
	if strings.Contains(name, "://") || strings.HasPrefix(name, ":") {
		return remote(name)
	}
	if name == "" {
		return place{}, program.Usagef("an empty name")
	}
	return place{given: name, local: true, path: name}, nil
}

// withSource splits tcp://host:3334/pvfs2-fs/a/b.
func (p place) withSource(name string) (place, error) {
	at := strings.Index(name, "://") + 3
	host, rest, _ := strings.Cut(name[at:], "/")
	fs, inside, _ := strings.Cut(rest, "/")
	if host == "" || fs == "" {
		return p, program.Usagef("bad name %q: want METHOD://ADDRESS/FILESYSTEM/path, for instance tcp://host:3334/pvfs2-fs/dir", name)
	}
	p.fs = name[:at] + host + "/" + fs
	p.path = absolute(inside)
	return p, nil
}

// absolute makes a path absolute. It keeps dots, because links decide their meaning.
func absolute(name string) string {
	if name == "" || name == "." {
		return "/"
	}
	if !strings.HasPrefix(name, "/") {
		return "/" + name
	}
	return name
}

// below is a name in a directory.
func (p place) below(name string) place {
	p.given = strings.TrimSuffix(p.given, "/") + "/" + name
	p.path = strings.TrimSuffix(p.path, "/") + "/" + name
	p.rel = strings.TrimPrefix(p.rel+"/"+name, "/")
	return p
}

// base is the last part of a name, as cp and mv use it; "" for the top, "." and "..".
func (p place) base() string {
	base := path.Base(p.path)
	if base == "/" || base == "." || base == ".." {
		return ""
	}
	return base
}
