package pvfs

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

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
		u, err := user.LookupId(strconv.FormatUint(uint64(id.UID), 10))
		if err != nil {
			return nil, fmt.Errorf("user %d has no home with a certificate: %w", id.UID, fs.ErrNotExist)
		}
		return usercert.ReadOf(id.UID, filepath.Join(u.HomeDir, certName), filepath.Join(u.HomeDir, certKeyName))
	}
}
