package web

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
)

// A Where is a place to serve at.
type Where struct {
	network string // "tcp", "unix", or "dir" for a socket in a folder
	address string // of "tcp": the host
	// Of "tcp": the first free port of these is taken.
	first, last int
}

// Forms says what Parse takes, for help texts.
const Forms = ":9100, HOST:PORT, HOST:FIRST-LAST for the first free port, unix:/PATH, or dir:/FOLDER for a socket of each process in a folder"

// Parse reads the name of a place.
func Parse(text string) (Where, error) {
	for _, network := range []string{"unix", "dir"} {
		path, ok := strings.CutPrefix(text, network+":")
		switch {
		case !ok || strings.HasPrefix(path, ":"): // a host can have the name
		case !filepath.IsAbs(path):
			return Where{}, fmt.Errorf("%q: the path behind %s: must begin with /", text, network)
		default:
			return Where{network: network, address: filepath.Clean(path)}, nil
		}
	}
	host, ports, err := net.SplitHostPort(text)
	if err != nil {
		return Where{}, fmt.Errorf("%q is no place to serve metrics at: want %s", text, Forms)
	}
	low, high, isRange := strings.Cut(ports, "-")
	if !isRange {
		high = low
	}
	first, err1 := strconv.ParseUint(low, 10, 16)
	last, err2 := strconv.ParseUint(high, 10, 16)
	if err1 != nil || err2 != nil || first == 0 || last < first {
		return Where{}, fmt.Errorf("%q: want a port from 1 to 65535, or the first and the last of several, in place of %q", text, ports)
	}
	return Where{"tcp", host, int(first), int(last)}, nil
}
