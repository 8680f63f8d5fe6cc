package stock

import (
	"os"
	"path/filepath"
	"testing"
)

// Variable is the environment variable with the folder that OrangeFS is installed in.
const Variable = "ORANGEFS_PREFIX"

// CertVariable is the one with the folder of an installation with certificate-based security.
const CertVariable = "ORANGEFS_CERT_PREFIX"

// Install is an installation of OrangeFS.
type Install struct {
	prefix string
	keys   *keys         // nil: its programs sign nothing
	certs  *Certificates // nil: they show no certificates
}

// Need skips the test where there is no OrangeFS.
func Need(tb testing.TB) Install {
	tb.Helper()
	prefix := os.Getenv(Variable)
	if prefix == "" {
		tb.Skipf("%s is not set: it names an installation of OrangeFS as docs/orangefs.md describes it, the folder that holds bin/", Variable)
	}
	o := Install{prefix: prefix}
	o.keys = newKeys(tb, o)
	return o
}

// Program is the path of an installed program. One that is missing fails the test, as a test that
// passes because nothing ran would say the wrong thing.
func (o Install) Program(tb testing.TB, name string) string {
	tb.Helper()
	for _, folder := range []string{"bin", "sbin"} {
		path := filepath.Join(o.prefix, folder, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	tb.Fatalf("stock: %s is not in bin/ or sbin/ of %s=%s, see docs/orangefs.md", name, Variable, o.prefix)
	return ""
}

// libraries is where programs find libraries of their own installation.
func (o Install) libraries() string { return "LD_LIBRARY_PATH=" + filepath.Join(o.prefix, "lib") }
