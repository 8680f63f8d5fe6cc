package shm

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// Environment variables about other users of the machine.
const (
	// OtherUsersEnv, set to 1, opens the names of this process to other users.
	OtherUsersEnv = "VIADUCT_SHM_OTHER_USERS"
	// OpenDirEnv is the directory with the folders of open names, instead of openDirDefault.
	OpenDirEnv = "VIADUCT_SHM_OPEN_DIR"
	// TrustEnv lists users, by number or name and separated by commas, to whose open names this process
	// connects.
	TrustEnv = "VIADUCT_SHM_TRUST"
)

// openDirDefault is a directory in which only root can make folders, so that no user makes another's.
const openDirDefault = "/run/viaduct"

func (pr *Provider) openDir() string {
	if pr.OpenDir != "" {
		return pr.OpenDir
	}
	if dir := environ.Getenv(OpenDirEnv); dir != "" {
		return dir
	}
	return openDirDefault
}

// openFolder is the folder of a user's open names.
func openFolder(base string, uid uint32) string {
	return filepath.Join(base, strconv.FormatUint(uint64(uid), 10))
}

// makeOpenDir makes or opens the folder of our open names. Other users may look up names there, and change
// nothing.
func makeOpenDir(base string, uid uint32) (*nameDir, error) {
	if !filepath.IsAbs(base) {
		return nil, fmt.Errorf("shm: directory %q is not an absolute path, set %s to one", base, OpenDirEnv)
	}
	path := openFolder(base, uid)
	err := makeOpen(base)
	if err == nil {
		if err := checkBase(base, uid); err != nil {
			return nil, err
		}
		err = makeOpen(path)
	}
	if err != nil {
		return nil, fmt.Errorf("shm: cannot make the folder of names that are open to other users; let root make %s, "+
			"belonging to uid %d and with mode 755, or set %s: %w", path, uid, OpenDirEnv, err)
	}
	dir, err := openDir(path)
	if err != nil {
		return nil, err
	}
	if dir.mode&0o011 != 0o011 {
		dir.close()
		return nil, fmt.Errorf("shm: other users cannot enter %s (mode %#o), where the names are that are open to them; chmod it to 755: %w",
			path, dir.mode, os.ErrPermission)
	}
	dir.lockFD, err = unix.Openat(dir.fd, lockName, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		dir.close()
		return nil, fmt.Errorf("shm: %s: %w", filepath.Join(path, lockName), err)
	}
	return dir, nil
}

// makeOpen makes a directory that other users may enter, independently of the umask. An existing directory is
// left unchanged.
func makeOpen(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer closeFD(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if int(st.Uid) != os.Geteuid() {
		return os.ErrPermission // another process made it first
	}
	return unix.Fchmod(fd, 0o755)
}

// checkBase checks that no other user can replace our folder.
func checkBase(base string, uid uint32) error {
	var st unix.Stat_t
	if err := unix.Stat(base, &st); err != nil {
		return fmt.Errorf("shm: %s: %w", base, err)
	}
	if st.Uid != uid && st.Uid != 0 || st.Mode&0o022 != 0 {
		return fmt.Errorf("shm: directory %s (owner %d, mode %#o) must belong to root or uid %d and be writable by nobody else; fix it or set %s: %w",
			base, st.Uid, st.Mode&0o7777, uid, OpenDirEnv, os.ErrPermission)
	}
	return nil
}

// lookIn opens the folder of a user's open names, to connect there. The folder must belong to that user and not
// be writable by others; otherwise the names there could be any user's.
func lookIn(base string, uid uint32) (*nameDir, error) {
	path := openFolder(base, uid)
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("shm: open %s: %w", path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		closeFD(fd)
		return nil, fmt.Errorf("shm: %s: %w", path, err)
	}
	if st.Uid != uid || st.Mode&0o022 != 0 {
		closeFD(fd)
		return nil, fmt.Errorf("shm: directory %s (owner %d, mode %#o) should belong to uid %d and be writable by nobody else: not used: %w",
			path, st.Uid, st.Mode&0o7777, uid, os.ErrPermission)
	}
	return &nameDir{path: path, fd: fd, lockFD: -1, byFD: true}, nil
}

// trusted are the users whose folders of open names a device searches: ours, the named ones, and root.
func (d *Device) trusted() []uint32 {
	all := []uint32{d.euid}
	for _, uid := range append(slices.Clone(d.trust), 0) {
		if !slices.Contains(all, uid) {
			all = append(all, uid)
		}
	}
	return all
}

// parseTrust reads TrustEnv.
func parseTrust(text string) (uids []uint32, err error) {
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		number := word
		if u, err := user.Lookup(word); err == nil {
			number = u.Uid
		}
		uid, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("shm: %s: there is no user %q; give names or numbers of users, with commas between", TrustEnv, word)
		}
		uids = append(uids, uint32(uid))
	}
	return uids, nil
}
