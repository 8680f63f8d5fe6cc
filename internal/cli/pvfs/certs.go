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

// certVariable names the file with the certificate of the user, for OrangeFS's programs as well.
const certVariable = "PVFS2CERT_FILE"

// Where a user has its certificate and key, in its home, unless told otherwise; OrangeFS's programs look there, too.
const (
	certName    = ".pvfs2-cert.pem"
	certKeyName = ".pvfs2-cert-key.pem"
)

// certPaths are the files that flags and variables name, or else those in this user's home; given: they were named.
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

// certificates finds the certificate of each user: of the one that this program acts for by certPaths, of others, for whom a mount of root acts, too,
// in their homes.
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

// homeOf is the home of a user; "" if it has none. Without cgo, package user knows /etc/passwd alone: getent also asks the directory that
// this machine uses.
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
