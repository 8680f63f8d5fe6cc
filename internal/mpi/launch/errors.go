package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Reasons why a program could not be started.
var (
	ErrNotFound      = errors.New("program not found")
	ErrNotExecutable = errors.New("program cannot be executed")
	ErrDirectory     = errors.New("no such working directory")
	ErrCount         = errors.New("bad number of processes")
	ErrDescriptors   = errors.New("too few file descriptors")
)

// Descriptors that this program needs: of each process its PMI connection, its two outputs and two
// handles, and some for itself and for the start of a process.
const (
	descriptorsEach = 5
	descriptorsOwn  = 32
)

// checkDescriptors checks whether this program may have enough descriptors for n processes. Go has
// raised its limit as far as an ordinary user may.
func checkDescriptors(n int) error {
	var limit unix.Rlimit
	need := uint64(n*descriptorsEach + descriptorsOwn)
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= need {
		return nil // without a limit to compare with, the start itself fails
	}
	return fmt.Errorf("%w: a job of %d processes needs %d, and the limit is %d: raise it (ulimit -n %d, or nofile in "+
		"/etc/security/limits.conf, LimitNOFILE of a service, --ulimit nofile of a container) or start fewer processes",
		ErrDescriptors, n, need, limit.Cur, need)
}

// resolve checks a program. On other hosts, its file and its directory may be others: there the
// agents check them.
func (c Config) resolve(p Program) (Program, error) {
	if p.N < 1 || p.N > c.processesMax() {
		return p, fmt.Errorf("%w: %d processes of %s cannot be started, but 1 to %d can", ErrCount, p.N, p.Path, c.processesMax())
	}
	if c.Hosts != nil {
		return p.elsewhere()
	}
	return p.resolve()
}

// elsewhere makes a program independent of this program's directory and PATH.
func (p Program) elsewhere() (Program, error) {
	p.name = p.Path
	here, err := os.Getwd()
	if err != nil {
		return p, err
	}
	if path, err := exec.LookPath(p.Path); err == nil {
		p.Path = path
	}
	if strings.Contains(p.Path, "/") && !filepath.IsAbs(p.Path) {
		p.Path = filepath.Join(here, p.Path)
	}
	switch {
	case p.Dir == "":
		p.Dir = here
	case !filepath.IsAbs(p.Dir):
		p.Dir = filepath.Join(here, p.Dir)
	}
	return p, nil
}

// resolve finds a program's file and checks everything that can be checked before the start.
func (p Program) resolve() (Program, error) {
	if p.Dir != "" {
		if info, err := os.Stat(p.Dir); err != nil || !info.IsDir() {
			return p, fmt.Errorf("%w: %s", ErrDirectory, p.Dir)
		}
	}
	p.name = p.Path
	path, err := exec.LookPath(p.Path)
	switch {
	case err == nil:
		p.Path, err = filepath.Abs(path)
		return p, err
	case errors.Is(err, exec.ErrDot):
		return p, fmt.Errorf("%w: %s is found in the working directory only: write ./%s", ErrNotFound, p.Path, p.Path)
	case errors.Is(err, exec.ErrNotFound) && !strings.Contains(p.Path, "/"):
		text := fmt.Sprintf("there is no %s in PATH", p.Path)
		if _, err := os.Stat(p.Path); err == nil {
			text += fmt.Sprintf("; there is one here: write ./%s", p.Path)
		}
		return p, fmt.Errorf("%w: %s", ErrNotFound, text)
	case errors.Is(err, fs.ErrNotExist):
		return p, fmt.Errorf("%w: there is no file %s", ErrNotFound, p.Path)
	case errors.Is(err, fs.ErrPermission):
		return p, fmt.Errorf("%w: %s has no permission to be (chmod +x it, if it is a program)", ErrNotExecutable, p.Path)
	}
	return p, fmt.Errorf("%w: %w", ErrNotExecutable, err)
}

// startError says why the kernel did not start an existing file.
func startError(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: %s is not a program for this machine (a script begins with #! and its interpreter)", ErrNotExecutable, path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the interpreter of %s is missing", ErrNotExecutable, path)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w (each process takes %d): raise ulimit -n: %w", ErrDescriptors, descriptorsEach, err)
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("this machine does not take so many processes: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrNotExecutable, err)
}
