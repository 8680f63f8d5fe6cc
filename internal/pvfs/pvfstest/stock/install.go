package stock

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/need"
)

// Variable is the environment variable with the folder of the OrangeFS installation.
const Variable = "ORANGEFS_PREFIX"

// CertVariable is the variable with the folder of an installation with certificate-based security.
const CertVariable = "ORANGEFS_CERT_PREFIX"

// Install is an installation of OrangeFS.
type Install struct {
	prefix string
	keys   *keys         // nil: its programs do not sign
	certs  *Certificates // nil: they use no certificates
}

// Need skips the test without an installation of OrangeFS.
func Need(tb testing.TB) Install {
	tb.Helper()
	prefix := environ.Getenv(Variable)
	if prefix == "" {
		need.Unless(tb, need.OrangeFS, fmt.Errorf("%s does not name an installation, the folder that holds bin/ (docs/guides/orangefs.md)", Variable))
	}
	o := Install{prefix: prefix}
	o.keys = newKeys(tb, o)
	return o
}

// Program is the path of an installed program. A missing one fails the test, because a test must not pass when nothing ran.
func (o Install) Program(tb testing.TB, name string) string {
	tb.Helper()
	for _, folder := range []string{"bin", "sbin"} {
		path := filepath.Join(o.prefix, folder, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	tb.Fatalf("stock: %s is not in bin/ or sbin/ of %s=%s, see docs/guides/orangefs.md", name, Variable, o.prefix)
	return ""
}

// libraries sets the search path for libraries of the installation.
func (o Install) libraries() string { return "LD_LIBRARY_PATH=" + filepath.Join(o.prefix, "lib") }
