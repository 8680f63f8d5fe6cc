package docs

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

//go:embed prologue.sh
var prologue string

// hosts are the names of machines that pages may use. All are this one, at addresses of their own.
const hosts = `127.0.0.1 localhost
::1 localhost
127.0.2.1 here
127.0.2.2 there
` + nodes

// nodes are file servers.
const nodes = `127.0.1.1 node1 host1
127.0.1.2 node2 host2
127.0.1.3 node3
127.0.1.4 node4
127.0.1.5 node5
127.0.1.6 node6
127.0.1.7 node7
127.0.1.8 node8
127.0.1.9 node9
127.0.1.10 node10
127.0.1.11 node11
127.0.1.12 node12
`

// isolate makes the host of a session: processes, mounts and a network of its own, so that ports and names
// in pages are free, and nothing outlives the session. It ends in the script.
const isolate = `mount --make-rprivate / && mount -t proc proc /proc && mount --bind "$__work/hosts" /etc/hosts && ip link set lo up || exit 99
BASH_ENV=$__work/prologue.sh exec bash "$1"
`

// A Session is where the commands of one page run.
type Session struct {
	Page string // its name
	Root string // of the module
	Bin  string // built programs
	Work string // an empty folder

	// Terminal, if there is one, gets the output in place of Run's caller.
	Terminal *os.File
}

// Run runs a script and returns what it printed. The error says which line of the page failed.
func (s *Session) Run(ctx context.Context, script string) (output string, err error) {
	for _, d := range []string{"home", "run", "tmp", "files"} {
		if err := os.Mkdir(filepath.Join(s.Work, d), 0o700); err != nil {
			return "", err
		}
	}
	path := filepath.Join(s.Work, filepath.Base(s.Page))
	files := map[string]string{path: script, s.in("prologue.sh"): prologue, s.in("hosts"): hosts}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	if err := os.Symlink(s.Root, s.in("home/viaduct")); err != nil {
		return "", err
	}
	out, err := os.Create(s.in("output"))
	if err != nil {
		return "", err
	}
	defer func() { _ = out.Close() }() // it is read by its name
	cmd := exec.CommandContext(ctx, "bash", "-c", isolate, "bash", path)
	cmd.Dir = s.in("files")
	cmd.Env = s.environment()
	cmd.Stdout, cmd.Stderr = out, out
	if s.Terminal != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Terminal, s.Terminal, s.Terminal
	}
	cmd.SysProcAttr = isolated()
	if err := cmd.Start(); err != nil {
		return "", &CannotError{err}
	}
	err = cmd.Wait()
	text, readErr := os.ReadFile(s.in("output"))
	if readErr != nil {
		return "", readErr
	}
	if err != nil && cmd.ProcessState.ExitCode() == 99 {
		return "", &CannotError{fmt.Errorf("%w: %s", err, text)}
	}
	if problem, readErr := os.ReadFile(s.in("problem")); readErr == nil {
		return string(text), fmt.Errorf("%s\nall output:\n%s", strings.TrimSpace(string(problem)), indent(printable(string(text))))
	}
	if err != nil {
		return string(text), fmt.Errorf("%s: %w; all output:\n%s", s.Page, err, indent(printable(string(text))))
	}
	return string(text), nil
}

func (s *Session) in(name string) string { return filepath.Join(s.Work, name) }

// environment has nothing of this process but what the Go command needs.
func (s *Session) environment() []string {
	env := []string{
		"PATH=" + s.Bin + ":" + os.Getenv("PATH"), "HOME=" + s.in("home"), "TMPDIR=" + s.in("tmp"), "XDG_RUNTIME_DIR=" + s.in("run"),
		"LC_ALL=C.UTF-8", "USER=root", "NO_COLOR=1",
		"GOFLAGS=" + os.Getenv("GOFLAGS") + " -mod=mod", "GOPROXY=off", "GOSUMDB=off", "CGO_ENABLED=0", "GOWORK=off",
		"__page=" + s.Page, "__work=" + s.Work, "__bin=" + s.Bin, "__root=" + s.Root,
	}
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN").Output()
	if err == nil {
		values := strings.Split(string(out), "\n")
		env = append(env, "GOCACHE="+values[0], "GOMODCACHE="+values[1], "GOTOOLCHAIN="+values[2])
	}
	return env
}

// isolated asks for namespaces. Only root may have them without a namespace of users.
func isolated() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
		Setsid:     true,
	}
	if uid := os.Getuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// printable makes markers readable.
func printable(output string) string { return strings.ReplaceAll(output, Marker, "-- line ") }

// A CannotError says why sessions are not possible on this machine.
type CannotError struct{ Err error }

func (e *CannotError) Error() string { return "no namespace for commands of pages: " + e.Err.Error() }
func (e *CannotError) Unwrap() error { return e.Err }
