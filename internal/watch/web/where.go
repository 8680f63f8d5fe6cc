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
	address string
}

// Forms says what Parse takes, for help texts.
const Forms = ":9100, HOST:PORT, unix:/PATH, or dir:/FOLDER for a socket of each process in a folder"

// Parse reads the name of a place.
func Parse(text string) (Where, error) {
	for _, network := range []string{"unix", "dir"} {
		path, ok := strings.CutPrefix(text, network+":")
		switch {
		case !ok || strings.HasPrefix(path, ":"): // a host can have the name
		case !filepath.IsAbs(path):
			return Where{}, fmt.Errorf("%q: want a path that begins with / behind %s:", text, network)
		default:
			return Where{network, filepath.Clean(path)}, nil
		}
	}
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return Where{}, fmt.Errorf("%q is no place to serve metrics at: want %s", text, Forms)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return Where{}, fmt.Errorf("%q: port %q is no number from 1 to 65535", text, port)
	}
	return Where{"tcp", text}, nil
}
