package gather

import (
	"fmt"
	"net"
	"strings"
)

// A Target is where snapshots come from.
type Target struct {
	kind kind
	at   string // HOST:PORT, or a path
}

type kind int

const (
	address kind = iota
	socket
	folder
)

// ParseTarget reads a target as the user writes it: HOST:PORT, http://HOST:PORT, unix:PATH or dir:PATH. These are also the values of
// VIADUCT_METRICS.
func ParseTarget(text string) (Target, error) {
	for prefix, k := range map[string]kind{"unix:": socket, "dir:": folder} {
		if path, ok := strings.CutPrefix(text, prefix); ok {
			if path == "" {
				return Target{}, fmt.Errorf("%s: a path is missing behind %s", text, prefix)
			}
			return Target{k, path}, nil
		}
	}
	at := strings.TrimSuffix(strings.TrimPrefix(text, "http://"), "/")
	host, port, err := net.SplitHostPort(at)
	if err != nil || port == "" || strings.Contains(at, "/") {
		return Target{}, fmt.Errorf("%q is no address of metrics: want HOST:PORT, unix:PATH or dir:PATH, as in VIADUCT_METRICS of the process", text)
	}
	if host == "" {
		at = net.JoinHostPort("localhost", port) // a process that listens at all addresses listens at localhost, too
	}
	return Target{address, at}, nil
}

// String is the target as the user writes it.
func (t Target) String() string {
	return map[kind]string{address: "", socket: "unix:", folder: "dir:"}[t.kind] + t.at
}
