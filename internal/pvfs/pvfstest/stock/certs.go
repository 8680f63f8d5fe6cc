package stock

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/certtest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/ldapusers/ldaptest"
)

// Certificates are for programs with certificate-based security: an authority and a directory of users, for one test.
type Certificates struct {
	CA    *certtest.CA
	Users *ldaptest.Server
}

// wantsCertificates is an error message that only a pvfs2-server with certificate-based security contains.
const wantsCertificates = "CAFile not defined in configuration file"

// NeedCertificates is Need for an installation with certificate-based security. Its directory has the users alice and bob, with
// the passwords wonderland and builder, the user IDs 1000 and 1001, and group 100. Tools act for root, with the certificate of
// the authority.
func NeedCertificates(tb testing.TB) Install {
	tb.Helper()
	prefix := environ.Getenv(CertVariable)
	if prefix == "" {
		need.Unless(tb, need.OrangeFS, fmt.Errorf("%s does not name an installation that was configured with --enable-security-cert (docs/guides/orangefs.md)", CertVariable))
	}
	o := Install{prefix: prefix}
	program, err := os.ReadFile(o.Program(tb, "pvfs2-server"))
	must(tb, "read pvfs2-server", err)
	if !bytes.Contains(program, []byte(wantsCertificates)) {
		tb.Fatalf("stock: pvfs2-server of %s=%s was built without --enable-security-cert", CertVariable, prefix)
	}
	o.certs = &Certificates{CA: certtest.New(tb, "OrangeFS CA"), Users: ldaptest.Start(tb,
		ldaptest.User("alice", "wonderland", 1000, 100), ldaptest.User("bob", "builder", 1001, 100))}
	return o
}

// Certificates is the authority of the installation; nil without one.
func (o Install) Certificates() *Certificates { return o.certs }

// With returns the tools with another certificate and key.
func (t *Tools) With(certFile, keyFile string) *Tools {
	other := *t
	other.certFile, other.keyFile = certFile, keyFile
	return &other
}

// File is the path of a file in the folder of the tools.
func (t *Tools) File(name string) string { return filepath.Join(t.Dir, name) }
