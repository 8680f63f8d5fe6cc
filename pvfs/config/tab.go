package config

import (
	"errors"
	"fmt"
	"strings"
)

// Tab is a line of a pvfs2tab. It has the mount point of a file system and the servers that know it.
type Tab struct {
	Servers []string // bmi addresses; any of them will do
	FS      string   // name of the file system
	Dir     string   // empty if only the source was given
	Type    string
	Options []string
}

// ErrNoTab is for a line without a file system: empty, a comment, or of another type.
var ErrNoTab = errors.New("config: no pvfs2 file system in this line")

// ParseTab reads one line. It has the source, "address/name" or several of these separated by commas. Then there may be the mount
// point, the type and the options.
func ParseTab(line string) (Tab, error) {
	fields := strings.Fields(line)
	if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
		return Tab{}, ErrNoTab
	}
	t := Tab{Type: "pvfs2"}
	if len(fields) > 1 {
		t.Dir = fields[1]
	}
	if len(fields) > 2 {
		t.Type = fields[2]
	}
	if t.Type != "pvfs2" && t.Type != "orangefs" {
		return Tab{}, fmt.Errorf("%w: type is %q", ErrNoTab, t.Type)
	}
	if len(fields) > 3 {
		t.Options = splitList(fields[3])
	}
	for _, source := range splitList(fields[0]) {
		address, name, err := splitSource(source)
		if err != nil {
			return Tab{}, err
		}
		if t.FS != "" && t.FS != name {
			return Tab{}, fmt.Errorf("config: %q names two file systems", fields[0])
		}
		t.Servers, t.FS = append(t.Servers, address), name
	}
	if len(t.Servers) == 0 {
		return Tab{}, fmt.Errorf("config: %q names no server", fields[0])
	}
	return t, nil
}

// ParseTabFile reads a whole pvfs2tab. It skips lines without a pvfs2 file system.
func ParseTabFile(text string) ([]Tab, error) {
	var tabs []Tab
	number := 0
	for line := range strings.Lines(text) {
		number++
		t, err := ParseTab(line)
		switch {
		case errors.Is(err, ErrNoTab):
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", number, err)
		default:
			tabs = append(tabs, t)
		}
	}
	return tabs, nil
}

// ErrSource: the text does not name a file system.
var ErrSource = errors.New("bad source")

// splitSource splits "tcp://host:3334/name".
func splitSource(source string) (address, name string, err error) {
	start := strings.Index(source, "://")
	if start < 0 {
		return "", "", fmt.Errorf("%w: %q is no address and name, as tcp://host:3334/pvfs2-fs is", ErrSource, source)
	}
	end := strings.LastIndexByte(source, '/')
	if end <= start+3 || end == len(source)-1 {
		return "", "", fmt.Errorf("%w: %q has no name of a file system behind the address, as in %s/pvfs2-fs", ErrSource, source, source)
	}
	return source[:end], source[end+1:], nil
}

// splitList splits at commas and drops empty parts.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}
