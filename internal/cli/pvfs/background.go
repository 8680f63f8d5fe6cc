package pvfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// readyEnv tells a process that it was started to mount in the background. It reports on the descriptor readyFD that it has
// mounted.
const (
	readyEnv = "PVFS_MOUNT_READY"
	readyFD  = 3
)

// errChild: the background process failed and has printed the reason.
var errChild = errors.New("the mount in the background failed")

// isChild reports whether this is the background process.
func isChild() bool { return environ.Getenv(readyEnv) != "" }

// inBackground starts this program again with the same arguments, and waits until that process has mounted or failed.
func (a *App) inBackground() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	cmd := exec.Command(self, a.args...)
	cmd.Env = append(os.Environ(), readyEnv+"=1")
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	write.Close()
	if err != nil {
		return err
	}
	said, err := io.ReadAll(read)
	if err != nil {
		return err
	}
	if len(said) > 0 {
		fmt.Fprintln(a.Out, strings.TrimSpace(string(said)))
		return cmd.Process.Release()
	}
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case errors.As(err, &exit):
		return &childError{exit.ExitCode()}
	default:
		return errors.Join(errChild, err)
	}
}

// A childError is the exit code of the background process.
type childError struct{ code int }

func (e *childError) Error() string { return errChild.Error() }

// ready reports that the directory is mounted, and detaches from the terminal.
func ready(text string) error {
	unix.CloseOnExec(readyFD)
	done := os.NewFile(readyFD, "ready")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(done, text)
	return errors.Join(err, done.Close())
}
