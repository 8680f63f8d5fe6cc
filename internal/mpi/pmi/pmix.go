package pmi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Environment variables of launchers with PMIx: srun --mpi=pmix, prterun, Open MPI's mpirun.
const (
	pmixNamespaceEnv = "PMIX_NAMESPACE"
	pmixRankEnv      = "PMIX_RANK"
)

// HelperEnv is the path of viaduct-pmix, if it is neither beside the program nor in PATH. That
// program makes the calls of PMIx for this process, because libpmix cannot be loaded without cgo
// (docs/internals/decisions/0055). It is C, in cmd/viaduct-pmix, and loads the libpmix that LibraryEnv names,
// or the system's.
const (
	HelperEnv  = "MPI_PMIX_HELPER"
	LibraryEnv = "MPI_PMIX_LIBRARY"
)

const helperName = "viaduct-pmix"

// underPMIx tells whether a launcher with PMIx started the process.
func underPMIx(getenv func(string) string) bool {
	return getenv(pmixNamespaceEnv) != "" && getenv(pmixRankEnv) != ""
}

// findHelper returns the path of viaduct-pmix.
func findHelper(getenv func(string) string) (string, error) {
	if path := getenv(HelperEnv); path != "" {
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), helperName)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	return exec.LookPath(helperName)
}

// launched is the number of processes that a launcher is known to have started, or 0.
func launched(getenv func(string) string) int {
	for _, key := range []string{"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"} {
		if n, err := strconv.Atoi(getenv(key)); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// connectPMIx joins the job of a launcher with PMIx. ok is false if viaduct-pmix is not there, and
// the process is the only one of its job.
func connectPMIx(ctx context.Context, getenv func(string) string) (c Client, ok bool, err error) {
	path, err := findHelper(getenv)
	if err != nil {
		if launched(getenv) == 1 {
			return nil, false, nil
		}
		return nil, false, errclass.New(errclass.Other,
			"a launcher started this process under PMIx, and %s, which joins such a job, is neither beside the program nor in PATH: build it (make pmix), name it in %s, or use srun --mpi=pmi2, mpiexec.hydra or Viaduct's mpiexec", helperName, HelperEnv)
	}
	secret, err := Secret(getenv)
	if err != nil {
		return nil, false, err
	}
	conn, err := startHelper(path)
	if err != nil {
		return nil, false, errclass.Wrap(errclass.Other, err, "%s, which joins a job under PMIx, cannot be started", path)
	}
	b := base{link: newLink(conn), spawned: getenv(SpawnedEnv) != "" && getenv(SpawnedEnv) != "0", secret: secret}
	inner, err := newClient1(ctx, b, environment{fd: -1})
	if err != nil {
		_ = conn.Close()
		return nil, false, err
	}
	return &clientX{inner, conn}, true, nil
}

// A clientX is a client under PMIx.
type clientX struct {
	*client1
	helper *helper
}

// Abort implements boot.Boot. Launchers with PMIx expect the process that aborts to end by itself.
func (c *clientX) Abort(code int, why string) error {
	c.abortWait = func() {
		select {
		case <-c.helper.ended: // the launcher knows about the abort
			os.Exit(code)
		case <-time.After(abortWait):
		}
	}
	return c.client1.Abort(code, why)
}

// A helper is a connection to a viaduct-pmix that this process started. Closing it ends the program.
type helper struct {
	net.Conn
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
}

// helperFD is the descriptor of the connection there.
const helperFD = 3

// helperEndMax is how long the helper may take to end after its end of the connection has.
const helperEndMax = 10 * time.Second

func startHelper(path string) (*helper, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "PMIx"), os.NewFile(uintptr(fds[1]), "PMIx")
	defer ours.Close()
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	h := &helper{Conn: conn, cmd: exec.Command(path, strconv.Itoa(helperFD)), ended: make(chan struct{})}
	h.cmd.Stderr = os.Stderr
	h.cmd.ExtraFiles = []*os.File{theirs}
	if err := h.cmd.Start(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	go func() {
		_ = h.cmd.Wait() // ProcessState has the result
		close(h.ended)
	}()
	return h, nil
}

// Read reads from the helper. If it has ended, the error says how.
func (h *helper) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if n > 0 || !errors.Is(err, io.EOF) && !isReset(err) {
		return n, err
	}
	select {
	case <-h.ended:
		return 0, fmt.Errorf("%s has ended (%v): %w", h.cmd.Path, h.cmd.ProcessState, io.EOF)
	case <-time.After(helperEndMax):
		return 0, err
	}
}

// Close ends the helper, and waits for its end. If this process has not finalized, the launcher takes
// it as dead.
func (h *helper) Close() error {
	err := h.Conn.Close()
	_ = h.cmd.Process.Kill() // fails if it has ended
	<-h.ended
	return err
}
