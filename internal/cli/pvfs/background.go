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
)

// readyEnv tells a process that another has started it to mount in the background: the descriptor readyFD is where
// it says that it has mounted.
const (
	readyEnv = "PVFS_MOUNT_READY"
	readyFD  = 3
)

// errChild is that the process in the background has failed, and has said why.
var errChild = errors.New("the mount in the background failed")

// isChild tells whether this process is the one in the background.
func isChild() bool { return os.Getenv(readyEnv) != "" }

// inBackground starts this program with the same arguments once more, and waits until that has
// mounted or failed.
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

// A childError is how the process in the background ended.
type childError struct{ code int }

func (e *childError) Error() string { return errChild.Error() }

// ready says that the directory is mounted, and lets go of the terminal.
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
