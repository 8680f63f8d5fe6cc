package gather

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// socketsMax limits the sockets of a folder.
const socketsMax = 4096

// list returns the sockets in a folder, in the order of their names, and the number of those that other users own: they are not asked.
func list(dir string) (found []Target, foreign int, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(4 * socketsMax)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSocket == 0 {
			continue // also a link to a socket
		}
		info, err := e.Info()
		if err != nil {
			continue // it has just gone
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || !trusted(st.Uid) {
			foreign++
			continue
		}
		if len(found) == socketsMax {
			return nil, 0, fmt.Errorf("%s has more than %d sockets: name some of them by unix:PATH", dir, socketsMax)
		}
		found = append(found, Target{socket, filepath.Join(dir, e.Name())})
	}
	slices.SortFunc(found, func(a, b Target) int {
		return cmp.Or(cmp.Compare(len(a.at), len(b.at)), cmp.Compare(a.at, b.at)) // so that rank 10 comes after rank 9
	})
	return found, foreign, nil
}

// euid and trustRoot are variables for tests.
var (
	euid      = os.Geteuid
	trustRoot = true
)

// trusted reports whether sockets of a user may be asked without being named: those of this user and of root. Root asks all.
func trusted(uid uint32) bool {
	self := euid()
	return int(uid) == self || trustRoot && uid == 0 || self == 0
}
