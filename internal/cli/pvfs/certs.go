package pvfs

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// certVariable names the file with the user's certificate, as for OrangeFS's programs.
const certVariable = "PVFS2CERT_FILE"

// The default names of a user's certificate and key in its home directory, as for OrangeFS's programs.
const (
	certName    = ".pvfs2-cert.pem"
	certKeyName = ".pvfs2-cert-key.pem"
)

// certPaths are the files from flags and variables, or else those in the user's home directory. given: flags or variables named
// them.
func (a *App) certPaths() (cert, key string, given bool) {
	home := a.getenv("HOME")
	cert, key = filepath.Join(home, certName), filepath.Join(home, certKeyName)
	if name := cmp.Or(a.certFlag, a.getenv(certVariable)); name != "" {
		cert, given = name, true
	}
	if name := cmp.Or(a.keyFlag, a.getenv(keyVariable)); name != "" {
		key, given = name, true
	}
	return cert, key, given
}

// certificates returns the function that finds users' certificates. For the user of this program it uses certPaths. For other
// users, for whom a mount of root acts, it looks in their home directories.
func (a *App) certificates(self uint32) func(client.Identity) (*usercert.Certificate, error) {
	return func(id client.Identity) (*usercert.Certificate, error) {
		if cert, key, given := a.certPaths(); id.UID == self && (given || int(self) == os.Geteuid()) {
			return usercert.Read(cert, key)
		}
		home := homeOf(id.UID)
		if home == "" {
			return nil, fmt.Errorf("user %d has no home with a certificate: %w", id.UID, fs.ErrNotExist)
		}
		return usercert.ReadOf(id.UID, filepath.Join(home, certName), filepath.Join(home, certKeyName))
	}
}

// homeOf is the home directory of a user; "" if it has none. Without cgo, package user reads only /etc/passwd. getent also asks
// the directory that this machine uses.
func homeOf(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil {
		return u.HomeDir
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "getent", "passwd", number).Output()
	if err != nil {
		return ""
	}
	fields := strings.Split(strings.TrimSpace(string(out)), ":")
	if len(fields) != passwdFields || fields[2] != number {
		return ""
	}
	return fields[5]
}

const (
	lookupTime   = 5 * time.Second
	passwdFields = 7
)
