// Package need is where a test says what it needs of the machine: programs, rights, devices. A test
// that lacks something is skipped with a reason that names it, or fails where [MustVariable] says so.
// `make test` lists the needs that were not met, and what to install (tools/checks). It is for tests only.
package need

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// MustVariable is the environment variable with the needs that must be met: names separated by
// commas, or "all". "-NAME" takes one out. A test fails if it lacks one of these.
const MustVariable = "VIADUCT_MUST"

// MachineVariable is the environment variable with [Machine]. `make test` sets it; whatever looks for a need
// reads it, so that go test does not take a result from its cache that another machine's programs gave.
const MachineVariable = "VIADUCT_MACHINE"

// Needs other than programs.
const (
	FUSE       = "fuse"       // file systems can be mounted through /dev/fuse
	UserMounts = "usermounts" // users other than root may mount through /dev/fuse
	Mount      = "mount"      // a tmpfs can be mounted
	Namespaces = "namespaces" // network namespaces can be made
	Root       = "root"       // the test runs as root
	IPv6       = "ipv6"       // the machine has IPv6
	Cores      = "cores"      // at least two processors
	Trace      = "trace"      // processes may trace others
	Terminal   = "terminal"   // pseudo-terminals can be opened
	Slurm      = "slurm"      // Slurm's daemons run
	PMIx       = "pmix"       // the headers of PMIx
	Modules    = "modules"    // a module proxy or a full module cache
	OrangeFS   = "orangefs"   // an installation of stock OrangeFS
	Captures   = "captures"   // captured messages of OrangeFS
	Peers      = "peers"      // the libraries that bench compares with
)

// prefix begins the reason of each skip for a need.
const prefix = "needs "

// Unless skips a test, or fails it, if err is not nil: the machine lacks what the test needs.
func Unless(t testing.TB, what string, err error) {
	t.Helper()
	_ = environ.Getenv(MachineVariable)
	if err == nil {
		return
	}
	if Must(what) {
		t.Fatalf("%s%s: %v; %s=%s forbids to skip", prefix, what, err, MustVariable, environ.Getenv(MustVariable))
	}
	t.Skipf("%s%s: %v", prefix, what, err)
}

// Program returns the path of the first of some programs that is installed. Otherwise the test is
// skipped, or fails. The first name is in the table of packages.
func Program(t testing.TB, names ...string) (path string) {
	t.Helper()
	for _, name := range names {
		if path, err := find(name); err == nil {
			Unless(t, name, nil)
			return path
		}
	}
	Unless(t, names[0], Missing(names[0]))
	return ""
}

// Missing is the error of a program that is not installed; nil if it is.
func Missing(name string) error {
	if _, err := find(name); err == nil {
		return nil
	}
	if p := Packages(name); p != "" {
		return fmt.Errorf("not installed: apt-get install %s", p)
	}
	return fmt.Errorf("not installed, and Debian has no package of it")
}

// find looks for a program in PATH, and where Debian has those of administrators.
func find(name string) (path string, err error) {
	if path, err = exec.LookPath(name); err == nil || strings.Contains(name, "/") {
		return path, err
	}
	return exec.LookPath("/usr/sbin/" + name)
}

// Loopback6 skips a test, or fails it, if the machine has no IPv6.
func Loopback6(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", "[::1]:0")
	Unless(t, IPv6, err)
	_ = l.Close() // it had no connection
}

// AsRoot skips a test, or fails it, if it does not run as root.
func AsRoot(t testing.TB) {
	t.Helper()
	var err error
	if os.Geteuid() != 0 {
		err = fmt.Errorf("only root can become another user")
	}
	Unless(t, Root, err)
}

// SoakPrefix begins the reason of a test that only the soak tier runs.
const SoakPrefix = "soak: "

// Soak skips a test in the fast tier.
func Soak(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(SoakPrefix + why)
	}
}

// Must reports whether a need must be met.
func Must(what string) bool {
	must := strings.Split(environ.Getenv(MustVariable), ",")
	if slices.Contains(must, "-"+what) {
		return false
	}
	return slices.Contains(must, what) || slices.Contains(must, "all") && !optional(what)
}

// Reason splits the reason of a skip: the need, and why it is not met. ok is false for other reasons.
func Reason(reason string) (what, why string, ok bool) {
	rest, ok := strings.CutPrefix(reason, prefix)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ": ")
}

// python is the interpreter for which Debian has packages.
const python = "/usr/bin/python3"

// Python skips a test, or fails it, if Debian's Python lacks some modules. The need is "python-" and
// the first module.
func Python(t testing.TB, modules ...string) {
	t.Helper()
	out, err := exec.Command(python, "-c", "import "+strings.Join(modules, ", ")).CombinedOutput()
	what := "python-" + modules[0]
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		err = fmt.Errorf("%w: %s: apt-get install %s", err, lines[len(lines)-1], Packages(what))
	}
	Unless(t, what, err)
}
